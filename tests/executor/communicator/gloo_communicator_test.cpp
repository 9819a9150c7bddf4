// Ranks as threads, each with its own connections over loopback.
#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <thread>

#include "core/error.h"
#include "core/program/wire.h"
#include "executor/communicator/gloo_communicator.h"
#include "tests/executor/communicator/memory_store.h"
#include "tests/executor/communicator/stream_threads.h"

namespace trainyard::executor {
namespace {

using Clock = std::chrono::steady_clock;

GroupHandle everyone(int rank, int size) {
  GroupHandle group{.members = {}, .index = rank, .key = 1};
  for (int i = 0; i < size; ++i) {
    group.members.emplace_back(i);
  }
  return group;
}

struct TestRank {
  int rank;
  int size;
  StreamThreads& streams;
  Communicator& communicator;
  GroupHandle group;
};

// Runs `body` as each of `size` ranks, on threads. Failures in a body are the test's.
void as_ranks(int size, const std::function<void(TestRank&)>& body, GlooOptions options = {}) {
  MemoryStore store;
  std::vector<std::thread> threads;
  for (int rank = 0; rank < size; ++rank) {
    threads.emplace_back([&, rank] {
      try {
        StreamThreads streams;
        const auto communicator = make_gloo_communicator(streams.post(), store, Rank(rank), size, options);
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
}

std::vector<float> values(int rank, std::int64_t elements, int repeat = 0) {
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

std::size_t at(CommunicationKind kind) { return static_cast<std::size_t>(kind); }

class GlooWith : public testing::TestWithParam<int> {};

TEST_P(GlooWith, all_reduce_sums_and_sends_what_wire_h_says) {
  GlooOptions options;
  options.slice_bytes = 4096;  // so that the larger tensors take many slices
  as_ranks(
      GetParam(),
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

TEST_P(GlooWith, results_have_the_same_bits_on_all_ranks_and_on_repeat) {
  constexpr std::int64_t kElements = 70'001;
  std::vector<std::vector<float>> results(static_cast<std::size_t>(GetParam()));
  as_ranks(GetParam(), [&](TestRank& self) {
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
TEST_P(GlooWith, collectives_on_different_streams_do_not_mix) {
  as_ranks(GetParam(), [](TestRank& self) {
    GroupHandle other = self.group;
    other.key = 2;
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

TEST_P(GlooWith, the_other_collectives_move_what_they_say) {
  as_ranks(GetParam(), [](TestRank& self) {
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

INSTANTIATE_TEST_SUITE_P(Ranks, GlooWith, testing::Values(1, 2, 3, 4),
                         [](const auto& tested) { return std::to_string(tested.param); });

TEST(Gloo, sends_are_matched_by_tag_in_any_order) {
  as_ranks(2, [](TestRank& self) {
    const Rank peer(1 - self.rank);
    const std::vector<float> first = values(self.rank, 100'000);
    const std::vector<float> second = values(self.rank, 10, 5);
    std::vector<float> first_in(first.size());
    std::vector<float> second_in(second.size());
    const auto bytes = [](const std::vector<float>& v) { return ByteCount(static_cast<std::int64_t>(v.size()) * 4); };
    self.communicator.send(Stream::kSendForward, peer, 7, first.data(), bytes(first));
    self.communicator.send(Stream::kSendBackward, peer, 8, second.data(), bytes(second));
    self.communicator.recv(Stream::kRecvBackward, peer, 8, second_in.data(), bytes(second));
    self.communicator.recv(Stream::kRecvForward, peer, 7, first_in.data(), bytes(first));
    self.streams.synchronize();
    EXPECT_EQ(first_in, values(peer.value(), 100'000));
    EXPECT_EQ(second_in, values(peer.value(), 10, 5));
    const CommunicatorCounters counters = self.communicator.counters();
    EXPECT_EQ(counters.sent[at(CommunicationKind::kSend)], bytes(first) + bytes(second));
    EXPECT_EQ(counters.messages[at(CommunicationKind::kSend)], 2);
    EXPECT_EQ(counters.messages[at(CommunicationKind::kRecv)], 0);
    self.communicator.barrier();
  });
}

TEST(Gloo, groups_of_some_ranks_work_side_by_side) {
  as_ranks(4, [](TestRank& self) {
    // Rows {0,1} {2,3} and columns {0,2} {1,3} of a 2 x 2 mesh.
    const int row = self.rank / 2;
    const int column = self.rank % 2;
    const GroupHandle rows{.members = {Rank(2 * row), Rank(2 * row + 1)}, .index = column, .key = 10};
    const GroupHandle columns{.members = {Rank(column), Rank(column + 2)}, .index = row, .key = 11};
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

TEST(Gloo, abort_releases_a_blocked_collective_at_once_and_later_calls_fail) {
  as_ranks(2, [](TestRank& self) {
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

TEST(Gloo, a_wait_that_exceeds_the_timeout_names_peer_and_operation) {
  GlooOptions options;
  options.timeout = std::chrono::milliseconds(200);
  as_ranks(
      2,
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
TEST(Gloo, a_rank_that_leaves_fails_all_others_soon) {
  as_ranks(4, [](TestRank& self) {
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

TEST(Gloo, a_missing_rank_fails_the_rendezvous_with_its_number) {
  MemoryStore store;
  StreamThreads streams;
  GlooOptions options;
  options.connect_timeout = std::chrono::milliseconds(200);
  try {
    make_gloo_communicator(streams.post(), store, Rank(0), 2, options);
    FAIL() << "rank 1 never came";
  } catch (const Error& error) {
    EXPECT_NE(error.problem().find("rank 1"), std::string::npos) << error.what();
  }
}

TEST(Gloo, sums_of_bf16_are_refused) {
  as_ranks(1, [](TestRank& self) {
    std::uint16_t data = 0;
    EXPECT_THROW(self.communicator.all_reduce(Stream::kData, self.group, CollectiveAlgorithm::kRing, &data,
                                              std::vector<std::int64_t>{0, 1}, DataType::kBf16, ReduceOp::kSum),
                 Error);
  });
}

}  // namespace
}  // namespace trainyard::executor
