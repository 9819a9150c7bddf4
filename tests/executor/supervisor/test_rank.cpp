// A small rank for the supervisor's tests. Usage: test_rank MODE [ARGUMENT]
//
//   ok                 prints a line and ends
//   exit CODE          rank 1 says why and exits with CODE, the others sleep
//   reduce             all-reduces until it fails; exits with 4 then
//   rank1-dies         reduces; rank 1 kills itself after some steps
//   rank1-stops        reduces; rank 1 stops itself (SIGSTOP)
//   rank1-hangs        reduces; rank 1 stops working, its process alive
//   cause              rank 1 exits with 3 for another rank's failure, a little later rank 0 with 2 for its own
//   stubborn           rank 1 exits with 3, the others ignore SIGTERM
//   launch FILE RANKS  launches RANKS sleepers that append their pids to FILE, and waits
//   sleep FILE
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "core/error.h"
#include "core/program/wire.h"
#include "executor/communicator/gloo_communicator.h"
#include "executor/supervisor/local_launcher.h"
#include "executor/supervisor/rank_environment.h"
#include "executor/supervisor/watcher.h"
#include "tests/executor/communicator/stream_threads.h"

namespace trainyard::executor {
namespace {

[[noreturn]] void sleep_for_ever() {
  while (true) {
    std::this_thread::sleep_for(std::chrono::seconds(1));
  }
}

int reduce(const RankEnvironment& self, int own_signal, bool hangs) {
  std::atomic<int> steps = 0;
  StreamThreads streams;
  StoreClient store(self.store);
  GlooOptions options;
  options.prefix = self.prefix;
  const auto communicator = make_gloo_communicator(streams.post(), store, Rank(self.rank), self.size, options);
  const Watcher watcher(
      self, [&](const std::string& why) { communicator->abort(why); }, std::chrono::milliseconds(50),
      [&] { return RankProgress{.ticks = steps, .step = steps, .waiting = communicator->waiting()}; });
  GroupHandle everyone{.members = {}, .index = self.rank, .key = 1};
  for (int rank = 0; rank < self.size; ++rank) {
    everyone.members.emplace_back(rank);
  }
  std::vector<float> data(1 << 20);
  const auto cuts = even_boundaries(static_cast<std::int64_t>(data.size()), self.size);
  try {
    for (int step = 0;; ++step) {
      steps = step + 1;
      if (self.rank == 1 && step == 20 && hangs) {
        sleep_for_ever();
      }
      if (self.rank == 1 && step == 20 && own_signal != 0) {
        std::fprintf(stderr, "rank 1 at step %d\n", step);
        ::raise(own_signal);
      }
      communicator->all_reduce(Stream::kData, everyone, CollectiveAlgorithm::kRing, data.data(), cuts, DataType::kFp32,
                               ReduceOp::kSum);
      streams.synchronize();
    }
  } catch (const Error& error) {
    std::fprintf(stderr, "rank %d: %s\n", self.rank, error.problem().c_str());
    return 4;
  }
}

int launch(const std::string& self, const std::string& file, int ranks) {
  LaunchOptions options;
  options.command = {self, "sleep", file};
  options.ranks = ranks;
  return launch_local(options).ok() ? 0 : 1;
}

int run(const std::vector<std::string>& arguments) {
  const std::string& mode = arguments.at(1);
  if (mode == "launch") {
    return launch(arguments[0], arguments.at(2), std::stoi(arguments.at(3)));
  }
  const RankEnvironment self = rank_environment().value();
  if (mode == "ok") {
    std::printf("rank %d of %d\n", self.rank, self.size);
    return 0;
  }
  if (mode == "sleep") {
    std::ofstream(arguments.at(2), std::ios::app) << std::to_string(::getpid()) + "\n" << std::flush;
    sleep_for_ever();
  }
  if (mode == "cause") {
    std::this_thread::sleep_for(std::chrono::milliseconds(self.rank == 1 ? 100 : 200));
    std::fprintf(stderr, "%s\n", self.rank == 1 ? "lost rank 0" : "the disk is full");
    return self.rank == 1 ? 3 : 2;
  }
  if (mode == "exit" || mode == "stubborn") {
    if (self.rank == 1) {
      std::this_thread::sleep_for(std::chrono::milliseconds(100));  // the others are ready by then
      std::fprintf(stderr, "something is wrong\nand this is the last line\n");
      return mode == "exit" ? std::stoi(arguments.at(2)) : 3;
    }
    if (mode == "stubborn") {
      ::signal(SIGTERM, SIG_IGN);
    }
    sleep_for_ever();
  }
  return reduce(self, mode == "rank1-dies" ? SIGKILL : mode == "rank1-stops" ? SIGSTOP : 0, mode == "rank1-hangs");
}

}  // namespace
}  // namespace trainyard::executor

int main(int argc, char** argv) { return trainyard::executor::run({argv, argv + argc}); }
