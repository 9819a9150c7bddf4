// ThreadPool: runs the tiles of a kernel on the calling thread and `threads - 1` helpers.
//
// Which thread takes which tile is left to chance; kernels choose their tiles by shape alone and write
// disjoint results, so the number of threads never changes a bit. Helpers sleep between calls: ranks of one
// host share its cores, and a spinning thread takes one from a neighbour.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace trainyard::executor {

class ThreadPool {
 public:
  explicit ThreadPool(int threads);  // throws Error where the system has no room for so many
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int threads() const { return static_cast<int>(helpers_.size()) + 1; }

  // Calls work(tile) for every tile in [0, tiles); returns when all are done. Rethrows the first exception.
  // A second caller while the helpers are busy does its tiles alone.
  void for_each_tile(std::int64_t tiles, const std::function<void(std::int64_t)>& work);

 private:
  struct Job;
  void help();
  void end_helpers();

  std::mutex callers_;  // held by the caller that has the helpers
  std::mutex mutex_;
  std::condition_variable job_posted_;
  std::condition_variable job_left_;
  Job* job_ = nullptr;
  std::uint64_t jobs_posted_ = 0;
  bool stop_ = false;
  std::vector<std::thread> helpers_;
};

}  // namespace trainyard::executor
