// Times the collectives between processes of this host, beside Gloo's own ring all-reduce in the same run.
// Usage: communicator_bench [RANKS...]     (2 and 4 by default)
//
// busbw as nccl-tests define it: bytes / time times 2 (n-1)/n for an all-reduce, (n-1)/n for reduce-scatter,
// all-gather and all-to-all, 1 for a broadcast or a message. Times: median, slowest rank, runs of the two
// all-reduces alternating.
#include <fmt/format.h>
#include <gloo/allreduce.h>
#include <gloo/math.h>
#include <gloo/rendezvous/context.h>
#include <gloo/transport/tcp/device.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "core/error.h"
#include "executor/calibration/collective_timer.h"
#include "executor/communicator/gloo_communicator.h"
#include "executor/communicator/gloo_store.h"
#include "executor/device/cpu_device.h"
#include "executor/supervisor/local_launcher.h"
#include "executor/supervisor/rank_environment.h"

namespace trainyard::executor {
namespace {

constexpr std::int64_t kLargest = std::int64_t{64} << 20;

// Gloo's collectives, on connections of their own.
class Peer {
 public:
  Peer(Store& store, const RankEnvironment& self, Device& device)
      : device_(device), context_(std::make_shared<gloo::rendezvous::Context>(self.rank, self.size)) {
    gloo::transport::tcp::attr loopback("127.0.0.1");
    auto transport = gloo::transport::tcp::CreateDevice(loopback);
    GlooStore rendezvous(store, self.prefix + "peer/", std::chrono::seconds(60));
    context_->connectFullMesh(rendezvous, transport);
    data_ = static_cast<float*>(device.allocate(ByteCount(kLargest)));
  }
  ~Peer() { device_.free(data_); }
  Peer(const Peer&) = delete;
  Peer& operator=(const Peer&) = delete;

  void all_reduce(Stream stream, std::int64_t bytes) {
    device_.host_function(stream, [this, bytes] {
      gloo::AllreduceOptions options(context_);
      options.setAlgorithm(gloo::AllreduceOptions::Algorithm::RING);
      options.setOutput(data_, static_cast<std::size_t>(bytes) / sizeof(float));
      options.setReduceFunction(
          [](void* c, const void* a, const void* b, std::size_t n) { gloo::sum<float>(c, a, b, n); });
      gloo::allreduce(options);
    });
  }

 private:
  Device& device_;
  std::shared_ptr<gloo::rendezvous::Context> context_;
  float* data_ = nullptr;
};

struct Column {
  const char* name;
  CommunicationKind kind;
  CollectiveAlgorithm algorithm;
  double factor;  // busbw / algbw, times n / (n - 1) where that applies
  bool per_member;
};

constexpr Column kColumns[] = {
    {"ar ring", CommunicationKind::kAllReduce, CollectiveAlgorithm::kRing, 2, true},
    {"ar direct", CommunicationKind::kAllReduce, CollectiveAlgorithm::kDirect, 2, true},
    {"ar tree", CommunicationKind::kAllReduce, CollectiveAlgorithm::kTree, 2, true},
    {"rs ring", CommunicationKind::kReduceScatter, CollectiveAlgorithm::kRing, 1, true},
    {"rs direct", CommunicationKind::kReduceScatter, CollectiveAlgorithm::kDirect, 1, true},
    {"ag ring", CommunicationKind::kAllGather, CollectiveAlgorithm::kRing, 1, true},
    {"a2a", CommunicationKind::kAllToAll, CollectiveAlgorithm::kDirect, 1, true},
    {"bcast", CommunicationKind::kBroadcast, CollectiveAlgorithm::kTree, 1, false},
};

// Alternates the two, so that a slow moment of the machine hits both.
std::pair<Seconds, Seconds> ours_and_gloos(CollectiveTimer& timer, Peer& peer, const CollectiveSample& sample,
                                           int repeats) {
  std::vector<Seconds> ours;
  std::vector<Seconds> theirs;
  const auto post = [&] { peer.all_reduce(Stream::kTensor, sample.payload.value()); };
  for (int round = 0; round < 5; ++round) {
    ours.push_back(timer.time(sample, repeats));
    theirs.push_back(timer.time(Stream::kTensor, repeats, post));
  }
  std::sort(ours.begin(), ours.end());
  std::sort(theirs.begin(), theirs.end());
  return {ours[2], theirs[2]};
}

void print_row(const RankEnvironment& self, CollectiveTimer& timer, Peer& peer, std::int64_t bytes) {
  const double share = static_cast<double>(self.size - 1) / self.size;
  const auto busbw = [&](const Column& column, Seconds time) {
    return static_cast<double>(bytes) / time.si() * column.factor * (column.per_member ? share : 1.0) * 1e-9;
  };
  const int repeats = bytes >= (4 << 20) ? 3 : 11;
  std::string row = fmt::format("{:>9} KiB", bytes / 1024);
  for (const Column& column : kColumns) {
    const CollectiveSample sample{column.kind, column.algorithm, self.size, ByteCount(bytes), {}};
    timer.time(sample, 1);
    if (&column == &kColumns[0]) {
      const auto [ours, gloos] = ours_and_gloos(timer, peer, sample, repeats);
      row += fmt::format(" {:>10.0f} {:>10.0f} {:>9.2f} {:>9.2f}", gloos.si() * 1e6, ours.si() * 1e6,
                         busbw(column, gloos), busbw(column, ours));
    } else {
      row += fmt::format(" {:>9.2f}", busbw(column, timer.time(sample, repeats)));
    }
  }
  const CollectiveSample message{CommunicationKind::kSend, CollectiveAlgorithm::kDirect, 2, ByteCount(bytes), {}};
  timer.time(message, 1);
  row += fmt::format(" {:>9.2f}", static_cast<double>(bytes) / timer.time(message, repeats).si() * 1e-9);
  if (self.rank == 0) {
    std::puts(row.c_str());
    std::fflush(stdout);
  }
}

int run_rank(const RankEnvironment& self) {
  const std::unique_ptr<Device> device = make_cpu_device({.threads = 1, .on_failure = {}});
  StoreClient store(self.store);
  GlooOptions options;
  options.prefix = self.prefix;
  if (const char* slice = std::getenv("COMMUNICATOR_BENCH_SLICE_KIB")) {
    options.slice_bytes = std::atoll(slice) * 1024;
  }
  const auto communicator = make_gloo_communicator(*device, store, Rank(self.rank), self.size, options);
  Peer peer(store, self, *device);
  CollectiveTimer timer(*device, *communicator, ByteCount(kLargest));
  if (self.rank == 0) {
    fmt::print("{} ranks; busbw in GB/s; slices of {} KiB\n", self.size, options.slice_bytes / 1024);
    fmt::print("{:>13} {:>10} {:>10} {:>9}", "size", "gloo us", "ar ring us", "gloo ar");
    for (const Column& column : kColumns) {
      fmt::print(" {:>9}", column.name);
    }
    fmt::print(" {:>9}\n", "send");
  }
  for (std::int64_t bytes = 4096; bytes <= kLargest; bytes *= 4) {
    print_row(self, timer, peer, bytes);
  }
  communicator->barrier();
  return 0;
}

int launch(int ranks) {
  LaunchOptions options;
  options.command = {std::filesystem::read_symlink("/proc/self/exe").string()};
  options.ranks = ranks;
  options.on_output = [](int, OutputStream stream, std::string_view bytes) {
    std::FILE* file = stream == OutputStream::kOut ? stdout : stderr;
    std::fwrite(bytes.data(), 1, bytes.size(), file);
    std::fflush(file);
  };
  const LaunchResult result = launch_local(options);
  if (result.failure) {
    fmt::print(stderr, "rank {} {}\n", result.failure->rank, result.failure->cause);
  }
  return result.ok() ? 0 : 1;
}

int run(const std::vector<std::string>& arguments) {
  if (const auto self = rank_environment()) {
    return run_rank(*self);
  }
  std::vector<int> sizes;
  for (std::size_t i = 1; i < arguments.size(); ++i) {
    sizes.push_back(std::stoi(arguments[i]));
  }
  for (const int ranks : sizes.empty() ? std::vector<int>{2, 4} : sizes) {
    if (const int status = launch(ranks); status != 0) {
      return status;
    }
  }
  return 0;
}

}  // namespace
}  // namespace trainyard::executor

int main(int argc, char** argv) {
  try {
    return trainyard::executor::run({argv, argv + argc});
  } catch (const std::exception& error) {
    std::fprintf(stderr, "communicator_bench: %s\n", error.what());
    return 2;
  }
}
