// A thread per stream that runs what is posted, in order: the part of a Device that a communicator needs.
#pragma once

#include <array>
#include <condition_variable>
#include <deque>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <utility>

#include "core/program/instruction.h"
#include "executor/communicator/gloo_communicator.h"

namespace trainyard::executor {

class StreamThreads {
 public:
  StreamThreads() {
    for (Lane& lane : lanes_) {
      lane.thread = std::thread([this, &lane] { run(lane); });
    }
  }
  ~StreamThreads() {
    {
      const std::scoped_lock lock(mutex_);
      stopping_ = true;
      changed_.notify_all();
    }
    for (Lane& lane : lanes_) {
      lane.thread.join();
    }
  }

  PostToStream post() {
    return [this](Stream stream, std::function<void()> work) {
      const std::scoped_lock lock(mutex_);
      lanes_[static_cast<std::size_t>(stream)].work.push_back(std::move(work));
      ++unfinished_;
      changed_.notify_all();
    };
  }

  // Until all streams are empty; rethrows the first exception.
  void synchronize() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return unfinished_ == 0; });
    if (const std::exception_ptr error = std::exchange(error_, nullptr)) {
      std::rethrow_exception(error);
    }
  }

 private:
  struct Lane {
    std::deque<std::function<void()>> work;
    std::thread thread;
  };

  void run(Lane& lane) {
    std::unique_lock lock(mutex_);
    while (true) {
      changed_.wait(lock, [&] { return stopping_ || !lane.work.empty(); });
      if (lane.work.empty()) {
        return;
      }
      const std::function<void()> work = std::move(lane.work.front());
      lane.work.pop_front();
      lock.unlock();
      std::exception_ptr error;
      try {
        work();
      } catch (...) {
        error = std::current_exception();
      }
      lock.lock();
      error_ = error_ ? error_ : error;
      --unfinished_;
      changed_.notify_all();
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  bool stopping_ = false;
  int unfinished_ = 0;
  std::exception_ptr error_;
  std::array<Lane, kStreams> lanes_;
};

}  // namespace trainyard::executor
