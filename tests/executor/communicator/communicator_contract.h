// Ranks as threads, each with a communicator of its own, over each backend there is: what all of them must do alike.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "executor/communicator/communicator.h"
#include "executor/supervisor/store.h"
#include "tests/executor/communicator/stream_threads.h"

namespace trainyard::executor {

struct ContractOptions {
  std::chrono::milliseconds timeout = std::chrono::minutes(5);
  std::chrono::milliseconds connect_timeout = std::chrono::seconds(60);
  std::int64_t slice_bytes = std::int64_t{512} << 10;
};

// What the ranks of one test share.
class Backend {
 public:
  virtual ~Backend() = default;
  // The communicator of one rank; what else it needs lives as long as the backend.
  virtual std::unique_ptr<Communicator> make(StreamThreads& streams, Store& store, Rank rank, int size,
                                             const ContractOptions& options) = 0;
  virtual void expect_no_violation() = 0;  // of the rules of what it is built on
};
using MakeBackend = std::function<std::unique_ptr<Backend>()>;

std::unique_ptr<Backend> gloo_backend();  // over loopback
std::unique_ptr<Backend> nccl_backend();  // over FakeNccl

struct TestRank {
  int rank;
  int size;
  StreamThreads& streams;
  Communicator& communicator;
  GroupHandle group;  // all ranks
};

GroupHandle everyone(int rank, int size);

// Runs `body` as each of `size` ranks, on threads. Failures in a body are the test's.
void as_ranks(const MakeBackend& backend, int size, const std::function<void(TestRank&)>& body,
              const ContractOptions& options = {});

std::vector<float> values(int rank, std::int64_t elements, int repeat = 0);
std::vector<double> oracle(int size, std::int64_t elements);  // sum over the ranks

}  // namespace trainyard::executor
