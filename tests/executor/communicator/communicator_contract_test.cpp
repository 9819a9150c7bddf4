// What every communicator does, whatever it is built on.
#include <gtest/gtest.h>

#include <chrono>
#include <numeric>
#include <thread>

#include "core/error.h"
#include "core/program/wire.h"
#include "tests/executor/communicator/communicator_contract.h"
#include "tests/executor/communicator/memory_store.h"

namespace trainyard::executor {
namespace {

using Clock = std::chrono::steady_clock;

std::size_t at(CommunicationKind kind) { return static_cast<std::size_t>(kind); }

struct Tested {
  const char* name;
  MakeBackend backend;
  int ranks;
};

void PrintTo(const Tested& tested, std::ostream* out) { *out << tested.name << " of " << tested.ranks; }

class CommunicatorWith : public testing::TestWithParam<Tested> {};

TEST_P(CommunicatorWith, all_reduce_sums_and_sends_what_wire_h_says) {
  ContractOptions options;
  options.slice_bytes = 4096;  // so that the larger tensors take many slices
  as_ranks(
      GetParam().backend, GetParam().ranks,
      [](TestRank& self) {
        WireTraffic expected;
        for (const std::int64_t elements : {0, 1, 5, 1000, 100'003}) {
          const auto cuts = even_boundaries(elements, self.size);
          const std::vector<double> want = oracle(self.size, elements);
          for (const auto algorithm :
               {CollectiveAlgorithm::kRing, CollectiveAlgorithm::kDirect, CollectiveAlgorithm::kTree}) {
            std::vector<float> data = values(self.rank, elements);
            self.communicator.all_reduce(Stream::kData, self.group, algorithm, data.data(), cuts, DataType::kFp32,
                                         ReduceOp::kSum);
            self.streams.synchronize();
            for (std::size_t i = 0; i < data.size(); ++i) {
              ASSERT_NEAR(static_cast<double>(data[i]), want[i], 1e-4);
            }
            const WireTraffic traffic = wire_traffic(CommunicationKind::kAllReduce, algorithm, cuts, self.rank);
            expected.sent_elements += traffic.sent_elements;
            expected.messages += traffic.messages;
          }
        }
        self.communicator.barrier();  // not counted
        const CommunicatorCounters counters = self.communicator.counters();
        EXPECT_EQ(counters.sent[at(CommunicationKind::kAllReduce)], ByteCount(4 * expected.sent_elements));
        EXPECT_EQ(counters.messages[at(CommunicationKind::kAllReduce)], expected.messages);
        EXPECT_EQ(counters.messages[at(CommunicationKind::kSend)], 0);
      },
      options);
}

TEST_P(CommunicatorWith, results_have_the_same_bits_on_all_ranks_and_on_repeat) {
  constexpr std::int64_t kElements = 70'001;
  std::vector<std::vector<float>> results(static_cast<std::size_t>(GetParam().ranks));
  as_ranks(GetParam().backend, GetParam().ranks, [&](TestRank& self) {
    for (int repeat = 0; repeat < 3; ++repeat) {
      std::vector<float> data = values(self.rank, kElements);
      self.communicator.all_reduce(Stream::kTensor, self.group, CollectiveAlgorithm::kRing, data.data(),
                                   even_boundaries(kElements, self.size), DataType::kFp32, ReduceOp::kSum);
      self.streams.synchronize();
      std::vector<float>& first = results[static_cast<std::size_t>(self.rank)];
      if (repeat == 0) {
        first = data;
      }
      EXPECT_EQ(first, data);
    }
    self.communicator.barrier();
  });
  for (const auto& result : results) {
    EXPECT_EQ(result, results[0]);
  }
}

// Three streams, two groups and one group on two streams, all in flight: a message taken by the wrong
// collective would show in the sums.
TEST_P(CommunicatorWith, collectives_on_different_streams_do_not_mix) {
  as_ranks(GetParam().backend, GetParam().ranks, [](TestRank& self) {
    GroupHandle other = self.group;
    other.key = 2;
    self.communicator.join(other);
    constexpr std::int64_t kElements = 9'001;
    const auto cuts = even_boundaries(kElements, self.size);
    const std::vector<double> want = oracle(self.size, kElements);
    std::vector<std::vector<float>> tensors(30, values(self.rank, kElements));
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      const Stream stream = i % 3 == 0 ? Stream::kTensor : i % 3 == 1 ? Stream::kData : Stream::kCompute;
      for (std::size_t j = 0; j < i; ++j) {  // a factor of its own for each collective
        tensors[i][j % tensors[i].size()] = 0;
      }
      self.communicator.all_reduce(stream, i % 2 == 0 ? self.group : other, CollectiveAlgorithm::kRing,
                                   tensors[i].data(), cuts, DataType::kFp32, ReduceOp::kSum);
    }
    self.streams.synchronize();
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      for (std::size_t j = 0; j < tensors[i].size(); ++j) {
        ASSERT_NEAR(static_cast<double>(tensors[i][j]), j < i ? 0.0 : want[j], 1e-4);
      }
    }
    self.communicator.barrier();
  });
}

TEST_P(CommunicatorWith, the_other_collectives_move_what_they_say) {
  as_ranks(GetParam().backend, GetParam().ranks, [](TestRank& self) {
    constexpr std::int64_t kElements = 1'003;
    const auto cuts = even_boundaries(kElements, self.size);
    const std::vector<double> want = oracle(self.size, kElements);
    for (const auto algorithm : {CollectiveAlgorithm::kRing, CollectiveAlgorithm::kDirect}) {
      std::vector<float> data = values(self.rank, kElements);
      self.communicator.reduce_scatter(Stream::kData, self.group, algorithm, data.data(), cuts, DataType::kFp32);
      self.communicator.all_gather(Stream::kData, self.group, algorithm, data.data(), cuts, DataType::kFp32);
      self.streams.synchronize();
      for (std::size_t i = 0; i < data.size(); ++i) {
        ASSERT_NEAR(static_cast<double>(data[i]), want[i], 1e-4);
      }
    }
    for (const auto algorithm : {CollectiveAlgorithm::kTree, CollectiveAlgorithm::kDirect}) {
      std::vector<float> data = values(self.rank, kElements);
      self.communicator.broadcast(Stream::kData, self.group, algorithm, data.data(), kElements, DataType::kFp32);
      self.streams.synchronize();
      EXPECT_EQ(data, values(0, kElements));
    }
    const std::vector<float> in = values(self.rank, self.size * 10);
    std::vector<float> out(in.size());
    const auto tens = even_boundaries(self.size * 10, self.size);
    self.communicator.all_to_all(Stream::kData, self.group, in.data(), tens, out.data(), tens, DataType::kFp32);
    self.streams.synchronize();
    for (int from = 0; from < self.size; ++from) {
      const std::vector<float> theirs = values(from, self.size * 10);
      for (int i = 0; i < 10; ++i) {
        EXPECT_EQ(out[static_cast<std::size_t>(from * 10 + i)], theirs[static_cast<std::size_t>(self.rank * 10 + i)]);
      }
    }
    self.communicator.barrier();
  });
}

TEST_P(CommunicatorWith, uneven_and_empty_chunks_are_scattered_and_gathered) {
  as_ranks(GetParam().backend, GetParam().ranks, [](TestRank& self) {
    std::vector<std::int64_t> cuts{0};  // sizes 5, 0, 19, 26
    for (int i = 0; i < self.size; ++i) {
      cuts.push_back(cuts.back() + (i % 3 == 1 ? 0 : 7 * i + 5));
    }
    const std::vector<double> want = oracle(self.size, cuts.back());
    std::vector<float> data = values(self.rank, cuts.back());
    self.communicator.reduce_scatter(Stream::kData, self.group, CollectiveAlgorithm::kRing, data.data(), cuts,
                                     DataType::kFp32);
    self.streams.synchronize();
    for (std::int64_t i = cuts[static_cast<std::size_t>(self.rank)]; i < cuts[static_cast<std::size_t>(self.rank) + 1];
         ++i) {
      ASSERT_NEAR(static_cast<double>(data[static_cast<std::size_t>(i)]), want[static_cast<std::size_t>(i)], 1e-4);
    }
    self.communicator.all_gather(Stream::kData, self.group, CollectiveAlgorithm::kRing, data.data(), cuts,
                                 DataType::kFp32);
    self.streams.synchronize();
    for (std::size_t i = 0; i < data.size(); ++i) {
      ASSERT_NEAR(static_cast<double>(data[i]), want[i], 1e-4);
    }
    const auto scattered =
        wire_traffic(CommunicationKind::kReduceScatter, CollectiveAlgorithm::kRing, cuts, self.rank).sent_elements;
    EXPECT_EQ(self.communicator.counters().sent[at(CommunicationKind::kReduceScatter)], ByteCount(4 * scattered));
    self.communicator.barrier();
  });
}

// 1F1B between neighbours: each stage's sends go forward and backward at once, and none may hold up the other
// direction.
TEST_P(CommunicatorWith, a_line_passes_messages_both_ways_at_once) {
  as_ranks(GetParam().backend, GetParam().ranks, [](TestRank& self) {
    self.communicator.join_line(self.group);
    constexpr int kMicrobatches = 6;
    constexpr std::int64_t kElements = 3'000;
    const ByteCount bytes(4 * kElements);
    const Rank previous(self.rank - 1);
    const Rank next(self.rank + 1);
    const bool first = self.rank == 0;
    const bool last = self.rank + 1 == self.size;
    std::vector<std::vector<float>> up(kMicrobatches, std::vector<float>(kElements));
    std::vector<std::vector<float>> down(kMicrobatches, std::vector<float>(kElements));
    std::vector<std::vector<float>> out;
    for (int m = 0; m < kMicrobatches; ++m) {
      out.push_back(values(self.rank, kElements, m));
    }
    for (int m = 0; m < kMicrobatches; ++m) {
      const auto i = static_cast<std::size_t>(m);
      const auto tag = static_cast<std::uint64_t>(m);
      if (!first) {
        self.communicator.recv(Stream::kRecvForward, previous, tag, up[i].data(), bytes);
        self.communicator.send(Stream::kSendBackward, previous, 100 + tag, out[i].data(), bytes);
      }
      if (!last) {
        self.communicator.send(Stream::kSendForward, next, tag, out[i].data(), bytes);
        self.communicator.recv(Stream::kRecvBackward, next, 100 + tag, down[i].data(), bytes);
      }
    }
    self.streams.synchronize();
    for (int m = 0; m < kMicrobatches; ++m) {
      if (!first) {
        EXPECT_EQ(up[static_cast<std::size_t>(m)], values(self.rank - 1, kElements, m));
      }
      if (!last) {
        EXPECT_EQ(down[static_cast<std::size_t>(m)], values(self.rank + 1, kElements, m));
      }
    }
    const int sends = kMicrobatches * ((first ? 0 : 1) + (last ? 0 : 1));
    EXPECT_EQ(self.communicator.counters().messages[at(CommunicationKind::kSend)], sends);
    EXPECT_EQ(self.communicator.counters().sent[at(CommunicationKind::kSend)], sends * bytes);
    self.communicator.barrier();
  });
}

std::vector<Tested> all_tested() {
  std::vector<Tested> tested;
  for (int ranks = 1; ranks <= 4; ++ranks) {
    tested.push_back({"Gloo", gloo_backend, ranks});
    tested.push_back({"Nccl", nccl_backend, ranks});
  }
  return tested;
}

INSTANTIATE_TEST_SUITE_P(Ranks, CommunicatorWith, testing::ValuesIn(all_tested()),
                         [](const auto& tested) { return tested.param.name + std::to_string(tested.param.ranks); });

class EachCommunicator : public testing::TestWithParam<Tested> {};

TEST_P(EachCommunicator, groups_of_some_ranks_work_side_by_side) {
  as_ranks(GetParam().backend, 4, [](TestRank& self) {
    // Rows {0,1} {2,3} and columns {0,2} {1,3} of a 2 x 2 mesh.
    const int row = self.rank / 2;
    const int column = self.rank % 2;
    const GroupHandle rows{.members = {Rank(2 * row), Rank(2 * row + 1)}, .index = column, .key = 10};
    const GroupHandle columns{.members = {Rank(column), Rank(column + 2)}, .index = row, .key = 11};
    self.communicator.join(rows);
    self.communicator.join(columns);
    const std::vector<std::int64_t> cuts{0, 1, 2};
    std::vector<std::int64_t> a{1 << self.rank, 1};
    std::vector<std::int64_t> b{1 << self.rank, 1};
    self.communicator.all_reduce(Stream::kTensor, rows, CollectiveAlgorithm::kRing, a.data(), cuts, DataType::kInt64,
                                 ReduceOp::kSum);
    self.communicator.all_reduce(Stream::kData, columns, CollectiveAlgorithm::kTree, b.data(), cuts, DataType::kInt64,
                                 ReduceOp::kSum);
    self.streams.synchronize();
    EXPECT_EQ(a, (std::vector<std::int64_t>{row == 0 ? 3 : 12, 2}));
    EXPECT_EQ(b, (std::vector<std::int64_t>{column == 0 ? 5 : 10, 2}));
    self.communicator.barrier();
  });
}

TEST_P(EachCommunicator, abort_releases_a_blocked_collective_at_once_and_later_calls_fail) {
  as_ranks(GetParam().backend, 2, [](TestRank& self) {
    std::vector<float> data(1000);
    const auto cuts = even_boundaries(1000, 2);
    const auto all_reduce = [&] {
      self.communicator.all_reduce(Stream::kData, self.group, CollectiveAlgorithm::kRing, data.data(), cuts,
                                   DataType::kFp32, ReduceOp::kSum);
    };
    if (self.rank == 1) {
      std::this_thread::sleep_for(std::chrono::milliseconds(400));  // never comes to the all-reduce
      return;
    }
    all_reduce();
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    const auto begin = Clock::now();
    self.communicator.abort("the test says so");
    try {
      self.streams.synchronize();
      ADD_FAILURE() << "the all-reduce ended without its peer";
    } catch (const Error& error) {
      EXPECT_NE(error.problem().find("the test says so"), std::string::npos) << error.what();
      EXPECT_NE(error.problem().find("all_reduce"), std::string::npos) << error.what();
    }
    EXPECT_LT(Clock::now() - begin, std::chrono::milliseconds(500));  // 1 ms on an idle machine
    EXPECT_THROW(all_reduce(), Error);
    EXPECT_THROW(self.communicator.barrier(), Error);
  });
}

TEST_P(EachCommunicator, a_wait_that_exceeds_the_timeout_names_peer_and_operation) {
  ContractOptions options;
  options.timeout = std::chrono::milliseconds(200);
  as_ranks(
      GetParam().backend, 2,
      [](TestRank& self) {
        if (self.rank == 1) {
          std::this_thread::sleep_for(std::chrono::milliseconds(500));
          return;
        }
        float data = 0;
        self.communicator.recv(Stream::kRecvForward, Rank(1), 42, &data, ByteCount(4));
        try {
          self.streams.synchronize();
          ADD_FAILURE() << "nothing was sent";
        } catch (const Error& error) {
          EXPECT_NE(error.problem().find("no answer from rank 1 for 200 ms"), std::string::npos) << error.what();
          EXPECT_NE(error.problem().find("receive with tag 42"), std::string::npos) << error.what();
        }
      },
      options);
}

// Rank 2 goes while the others are in a ring: its neighbours lose it, close, and so release the rest.
TEST_P(EachCommunicator, a_rank_that_leaves_fails_all_others_soon) {
  as_ranks(GetParam().backend, 4, [](TestRank& self) {
    if (self.rank == 2) {
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
      return;  // closes its connections
    }
    const auto begin = Clock::now();
    std::vector<float> data(100'000);
    self.communicator.all_reduce(Stream::kData, self.group, CollectiveAlgorithm::kRing, data.data(),
                                 even_boundaries(100'000, 4), DataType::kFp32, ReduceOp::kSum);
    EXPECT_THROW(self.streams.synchronize(), Error);
    EXPECT_LT(Clock::now() - begin, std::chrono::milliseconds(2000));  // the timeout is 5 minutes
  });
}

TEST_P(EachCommunicator, a_missing_rank_fails_the_rendezvous_with_its_number) {
  ContractOptions options;
  options.connect_timeout = std::chrono::milliseconds(200);
  MemoryStore store;
  StreamThreads streams;
  const std::unique_ptr<Backend> backend = GetParam().backend();
  try {
    backend->make(streams, store, Rank(0), 2, options);
    FAIL() << "rank 1 never came";
  } catch (const Error& error) {
    EXPECT_NE(error.problem().find("rank 1"), std::string::npos) << error.what();
  }
}

INSTANTIATE_TEST_SUITE_P(Backends, EachCommunicator,
                         testing::Values(Tested{"Gloo", gloo_backend, 0}, Tested{"Nccl", nccl_backend, 0}),
                         [](const auto& tested) { return std::string(tested.param.name); });

}  // namespace
}  // namespace trainyard::executor
