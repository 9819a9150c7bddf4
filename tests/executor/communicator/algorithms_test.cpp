// The collective algorithms over mailboxes: what they leave in memory, what they send.
#include <gtest/gtest.h>

#include <numeric>
#include <thread>

#include "core/program/wire.h"
#include "executor/communicator/direct.h"
#include "executor/communicator/ring.h"
#include "executor/communicator/tree.h"
#include "executor/device/convert.h"
#include "tests/executor/communicator/memory_exchange.h"

namespace trainyard::executor {
namespace {

using Cuts = std::vector<std::int64_t>;
using Tensors = std::vector<std::vector<float>>;  // one a member

// Values whose sums round differently in different orders.
Tensors uneven_values(int members, std::int64_t elements) {
  Tensors tensors(static_cast<std::size_t>(members));
  for (int member = 0; member < members; ++member) {
    for (std::int64_t i = 0; i < elements; ++i) {
      tensors[static_cast<std::size_t>(member)].push_back(static_cast<float>((i * 37 + member * 101) % 1009) / 7.0F *
                                                          (member % 2 == 0 ? 1.0F : 1e-3F));
    }
  }
  return tensors;
}

std::vector<double> oracle_sum(const Tensors& tensors) {
  std::vector<double> sum(tensors[0].size());
  for (const auto& tensor : tensors) {
    for (std::size_t i = 0; i < sum.size(); ++i) {
      sum[i] += static_cast<double>(tensor[i]);
    }
  }
  return sum;
}

// Runs `algorithm` on every member at once, and checks what each sent against wire.h.
template <class Algorithm>
void run(Tensors& tensors, const Cuts& cuts, CommunicationKind kind, CollectiveAlgorithm name, Algorithm algorithm,
         std::int64_t slice_elements = 5) {
  Mailboxes boxes;
  const int members = static_cast<int>(tensors.size());
  std::vector<std::thread> threads;
  for (int member = 0; member < members; ++member) {
    threads.emplace_back([&, member] {
      MemoryExchange exchange(boxes, member, members);
      auto* data = reinterpret_cast<std::byte*>(tensors[static_cast<std::size_t>(member)].data());
      algorithm(exchange, ChunkedTensor{data, cuts, DataType::kFp32, slice_elements});
      const WireTraffic expected = wire_traffic(kind, name, cuts, member);
      EXPECT_EQ(exchange.sent_bytes(), expected.sent_elements * 4) << "member " << member;
      EXPECT_EQ(exchange.messages(), expected.messages) << "member " << member;
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  for (const auto& [key, box] : boxes.messages) {
    EXPECT_TRUE(box.empty()) << "a message nobody received";
  }
}

// Even and uneven cuts, empty chunks, an empty tensor.
std::vector<Cuts> cuttings(int members) {
  std::vector<Cuts> result;
  for (const std::int64_t elements : {0, 1, 3, 40, 1000}) {
    result.push_back(even_boundaries(elements, members));
  }
  Cuts uneven{0};
  for (int i = 0; i < members; ++i) {
    uneven.push_back(uneven.back() + (i % 3 == 1 ? 0 : 7 * i + 2));
  }
  result.push_back(uneven);
  return result;
}

void expect_near(const std::vector<float>& got, const std::vector<double>& want, std::int64_t begin, std::int64_t end) {
  for (std::int64_t i = begin; i < end; ++i) {
    const auto at = static_cast<std::size_t>(i);
    ASSERT_NEAR(static_cast<double>(got[at]), want[at], 1e-6 * (1 + std::abs(want[at]))) << "element " << i;
  }
}

class AlgorithmsOf : public testing::TestWithParam<int> {};

TEST_P(AlgorithmsOf, all_reduce_leaves_the_same_bits_of_the_sum_on_every_member) {
  for (const Cuts& cuts : cuttings(GetParam())) {
    const Tensors start = uneven_values(GetParam(), cuts.back());
    const auto check_all = [&](CollectiveAlgorithm name, auto algorithm) {
      Tensors tensors = start;
      run(tensors, cuts, CommunicationKind::kAllReduce, name,
          [&](Exchange& e, const ChunkedTensor& t) { algorithm(e, t, ReduceOp::kSum); });
      expect_near(tensors[0], oracle_sum(start), 0, cuts.back());
      for (const auto& tensor : tensors) {
        EXPECT_EQ(tensor, tensors[0]) << to_string(name);
      }
    };
    check_all(CollectiveAlgorithm::kRing, ring_all_reduce);
    check_all(CollectiveAlgorithm::kDirect, direct_all_reduce);
    check_all(CollectiveAlgorithm::kTree, tree_all_reduce);
  }
}

// bf16 travels as bf16 and is added in fp32: direct sums are rounded once, a ring's at each hop; all members hold the
// same bits either way.
TEST_P(AlgorithmsOf, bf16_sums_are_taken_in_fp32) {
  const int members = GetParam();
  const Cuts cuts = even_boundaries(97, members);
  const Tensors start = uneven_values(members, 97);
  for (const auto& [name, reduce] : {std::pair{CollectiveAlgorithm::kDirect, &direct_all_reduce},
                                     std::pair{CollectiveAlgorithm::kRing, &ring_all_reduce}}) {
    std::vector<std::vector<Bfloat16>> tensors(start.size(), std::vector<Bfloat16>(97));
    std::vector<float> exact(97, 0.0F);
    for (std::size_t member = 0; member < start.size(); ++member) {
      narrow(start[member].data(), tensors[member].data(), 97);
      for (std::size_t i = 0; i < exact.size(); ++i) {
        exact[i] += load(&tensors[member][i]);
      }
    }
    Mailboxes boxes;
    std::vector<std::thread> threads;
    for (int member = 0; member < members; ++member) {
      threads.emplace_back([&, member, reduce = reduce, name = name] {
        MemoryExchange exchange(boxes, member, members);
        auto* data = reinterpret_cast<std::byte*>(tensors[static_cast<std::size_t>(member)].data());
        reduce(exchange, ChunkedTensor{data, cuts, DataType::kBf16, 5}, ReduceOp::kSum);
        EXPECT_EQ(exchange.sent_bytes(),
                  2 * wire_traffic(CommunicationKind::kAllReduce, name, cuts, member).sent_elements);
      });
    }
    for (std::thread& thread : threads) {
      thread.join();
    }
    for (std::size_t i = 0; i < exact.size(); ++i) {
      Bfloat16 once{};
      store(&once, exact[i]);
      for (const auto& tensor : tensors) {
        EXPECT_EQ(tensor[i].bits, tensors[0][i].bits);
      }
      if (name == CollectiveAlgorithm::kDirect) {
        EXPECT_EQ(tensors[0][i].bits, once.bits);
      } else {
        EXPECT_NEAR(load(&tensors[0][i]), exact[i], std::abs(exact[i]) * static_cast<float>(members) / 256.0F);
      }
    }
  }
}

TEST_P(AlgorithmsOf, direct_sums_have_the_bits_of_a_loop_over_the_members) {
  const Cuts cuts = even_boundaries(97, GetParam());
  const Tensors start = uneven_values(GetParam(), 97);
  std::vector<float> loop = start[0];
  for (std::size_t j = 1; j < start.size(); ++j) {
    std::transform(loop.begin(), loop.end(), start[j].begin(), loop.begin(), std::plus<>());
  }
  Tensors reduced = start;
  run(reduced, cuts, CommunicationKind::kAllReduce, CollectiveAlgorithm::kDirect,
      [](Exchange& e, const ChunkedTensor& t) { direct_all_reduce(e, t, ReduceOp::kSum); });
  EXPECT_EQ(reduced[0], loop);
  Tensors scattered = start;
  run(scattered, cuts, CommunicationKind::kReduceScatter, CollectiveAlgorithm::kDirect,
      [](Exchange& e, const ChunkedTensor& t) { direct_reduce_scatter(e, t, ReduceOp::kSum); });
  for (std::size_t j = 0; j < start.size(); ++j) {
    for (std::int64_t i = cuts[j]; i < cuts[j + 1]; ++i) {
      EXPECT_EQ(scattered[j][static_cast<std::size_t>(i)], loop[static_cast<std::size_t>(i)]);
    }
  }
}

TEST_P(AlgorithmsOf, reduce_scatter_then_all_gather_is_an_all_reduce) {
  for (const Cuts& cuts : cuttings(GetParam())) {
    const Tensors start = uneven_values(GetParam(), cuts.back());
    const std::vector<double> want = oracle_sum(start);
    const auto check_all = [&](CollectiveAlgorithm name, auto scatter, auto gather) {
      Tensors tensors = start;
      run(tensors, cuts, CommunicationKind::kReduceScatter, name,
          [&](Exchange& e, const ChunkedTensor& t) { scatter(e, t, ReduceOp::kSum); });
      for (std::size_t j = 0; j < tensors.size(); ++j) {
        expect_near(tensors[j], want, cuts[j], cuts[j + 1]);
      }
      run(tensors, cuts, CommunicationKind::kAllGather, name, gather);
      for (const auto& tensor : tensors) {
        expect_near(tensor, want, 0, cuts.back());
      }
    };
    check_all(CollectiveAlgorithm::kRing, ring_reduce_scatter, ring_all_gather);
    check_all(CollectiveAlgorithm::kDirect, direct_reduce_scatter, direct_all_gather);
  }
}

TEST_P(AlgorithmsOf, maxima_are_reduced_too) {
  const Cuts cuts = even_boundaries(23, GetParam());
  Tensors tensors(static_cast<std::size_t>(GetParam()), std::vector<float>(23, -5.0F));
  for (std::size_t j = 0; j < tensors.size(); ++j) {
    tensors[j][j] = static_cast<float>(j) + 1.0F;
  }
  run(tensors, cuts, CommunicationKind::kAllReduce, CollectiveAlgorithm::kRing,
      [](Exchange& e, const ChunkedTensor& t) { ring_all_reduce(e, t, ReduceOp::kMax); });
  for (const auto& tensor : tensors) {
    for (std::size_t i = 0; i < tensor.size(); ++i) {
      EXPECT_EQ(tensor[i], i < tensors.size() ? static_cast<float>(i) + 1.0F : -5.0F);
    }
  }
}

TEST_P(AlgorithmsOf, broadcast_copies_member_0) {
  for (const std::int64_t elements : {0, 1, 52}) {
    const Cuts cuts = even_boundaries(elements, GetParam());
    const Tensors start = uneven_values(GetParam(), elements);
    for (const CollectiveAlgorithm name : {CollectiveAlgorithm::kTree, CollectiveAlgorithm::kDirect}) {
      Tensors tensors = start;
      run(tensors, cuts, CommunicationKind::kBroadcast, name,
          name == CollectiveAlgorithm::kTree ? tree_broadcast : direct_broadcast);
      for (const auto& tensor : tensors) {
        EXPECT_EQ(tensor, start[0]);
      }
    }
  }
}

TEST_P(AlgorithmsOf, all_to_all_transposes_the_chunks) {
  const Cuts cuts = even_boundaries(4 * GetParam(), GetParam());
  Tensors tensors = uneven_values(GetParam(), cuts.back());
  Tensors received(tensors.size(), std::vector<float>(tensors[0].size()));
  run(tensors, cuts, CommunicationKind::kAllToAll, CollectiveAlgorithm::kDirect,
      [&](Exchange& e, const ChunkedTensor& in) {
        auto* out = reinterpret_cast<std::byte*>(received[static_cast<std::size_t>(e.index())].data());
        direct_all_to_all(e, in, ChunkedTensor{out, cuts, DataType::kFp32, 5});
      });
  for (std::size_t from = 0; from < tensors.size(); ++from) {
    for (std::size_t to = 0; to < tensors.size(); ++to) {
      for (std::size_t i = 0; i < 4; ++i) {
        EXPECT_EQ(received[to][from * 4 + i], tensors[from][to * 4 + i]);
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Members, AlgorithmsOf, testing::Values(1, 2, 3, 4, 5, 8),
                         [](const auto& tested) { return std::to_string(tested.param); });

}  // namespace
}  // namespace trainyard::executor
