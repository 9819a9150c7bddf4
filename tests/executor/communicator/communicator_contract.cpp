#include "tests/executor/communicator/communicator_contract.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <list>
#include <mutex>
#include <thread>

#include "core/error.h"
#include "executor/communicator/gloo_communicator.h"
#include "executor/communicator/nccl/nccl_communicator.h"
#include "tests/executor/communicator/fake_nccl.h"
#include "tests/executor/communicator/host_gpu_streams.h"
#include "tests/executor/communicator/memory_store.h"

namespace trainyard::executor {

namespace {

class GlooBackend final : public Backend {
 public:
  std::unique_ptr<Communicator> make(StreamThreads& streams, Store& store, Rank rank, int size,
                                     const ContractOptions& options) override {
    GlooOptions gloo;
    gloo.timeout = options.timeout;
    gloo.connect_timeout = options.connect_timeout;
    gloo.slice_bytes = options.slice_bytes;
    return make_gloo_communicator(streams.post(), store, rank, size, gloo);
  }
  void expect_no_violation() override {}
};

class NcclBackend final : public Backend {
 public:
  std::unique_ptr<Communicator> make(StreamThreads& streams, Store& store, Rank rank, int size,
                                     const ContractOptions& options) override {
    NcclOptions nccl;
    nccl.timeout = options.timeout;
    nccl.connect_timeout = options.connect_timeout;
    return make_nccl_communicator(make_fake_nccl(world_), add(streams), store, rank, size, nccl);
  }
  void expect_no_violation() override {
    EXPECT_EQ(violations(*world_), std::vector<std::string>{});
    EXPECT_EQ(living_communicators(*world_), 0);
  }

 private:
  GpuStreams& add(StreamThreads& streams) {
    const std::scoped_lock lock(mutex_);
    return streams_.emplace_back(streams.post());
  }

  std::shared_ptr<FakeNcclWorld> world_ = make_fake_nccl_world();
  std::mutex mutex_;
  std::list<HostGpuStreams> streams_;
};

}  // namespace

std::unique_ptr<Backend> gloo_backend() { return std::make_unique<GlooBackend>(); }
std::unique_ptr<Backend> nccl_backend() { return std::make_unique<NcclBackend>(); }

GroupHandle everyone(int rank, int size) {
  GroupHandle group{.members = {}, .index = rank, .key = 1};
  for (int i = 0; i < size; ++i) {
    group.members.emplace_back(i);
  }
  return group;
}

void as_ranks(const MakeBackend& make_backend, int size, const std::function<void(TestRank&)>& body,
              const ContractOptions& options) {
  MemoryStore store;
  const std::unique_ptr<Backend> backend = make_backend();
  std::vector<std::thread> threads;
  for (int rank = 0; rank < size; ++rank) {
    threads.emplace_back([&, rank] {
      try {
        StreamThreads streams;
        const auto communicator = backend->make(streams, store, Rank(rank), size, options);
        TestRank self{rank, size, streams, *communicator, everyone(rank, size)};
        body(self);
      } catch (const std::exception& error) {
        ADD_FAILURE() << "rank " << rank << ": " << error.what();
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  backend->expect_no_violation();
}

std::vector<float> values(int rank, std::int64_t elements, int repeat) {
  std::vector<float> result;
  for (std::int64_t i = 0; i < elements; ++i) {
    result.push_back(static_cast<float>((i * 7919 + rank * 101 + repeat) % 2003) / 13.0F - 60.0F);
  }
  return result;
}

std::vector<double> oracle(int size, std::int64_t elements) {
  std::vector<double> sum(static_cast<std::size_t>(elements));
  for (int rank = 0; rank < size; ++rank) {
    const std::vector<float> one = values(rank, elements);
    std::transform(sum.begin(), sum.end(), one.begin(), sum.begin(), std::plus<>());
  }
  return sum;
}

}  // namespace trainyard::executor
