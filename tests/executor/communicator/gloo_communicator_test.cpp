// What Gloo's communicator does beyond the contract of all: ranks as threads over loopback.
#include <gtest/gtest.h>

#include <array>

#include "core/error.h"
#include "core/program/wire.h"
#include "tests/executor/communicator/communicator_contract.h"

namespace trainyard::executor {
namespace {

std::size_t at(CommunicationKind kind) { return static_cast<std::size_t>(kind); }

TEST(Gloo, sends_are_matched_by_tag_in_any_order) {
  as_ranks(gloo_backend, 2, [](TestRank& self) {
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

TEST(Gloo, sums_of_fp16_are_fp16) {
  as_ranks(gloo_backend, 3, [](TestRank& self) {
    // 1 + 2 + 3, exact in fp16.
    constexpr std::array<std::uint16_t, 3> kBits = {0x3C00, 0x4000, 0x4200};
    std::vector<std::uint16_t> data(7, kBits.at(static_cast<std::size_t>(self.rank)));
    self.communicator.all_reduce(Stream::kData, self.group, CollectiveAlgorithm::kRing, data.data(),
                                 std::vector<std::int64_t>{0, 2, 4, 7}, DataType::kFp16, ReduceOp::kSum);
    self.streams.synchronize();
    EXPECT_EQ(data, std::vector<std::uint16_t>(7, 0x4600));  // 6
    self.communicator.barrier();
  });
}

// 8-bit values have no sums of their own: what is narrow travels, and is summed wide.
TEST(Gloo, sums_of_fp8_are_refused) {
  as_ranks(gloo_backend, 1, [](TestRank& self) {
    std::uint8_t data = 0;
    EXPECT_THROW(self.communicator.all_reduce(Stream::kData, self.group, CollectiveAlgorithm::kRing, &data,
                                              std::vector<std::int64_t>{0, 1}, DataType::kFp8, ReduceOp::kSum),
                 Error);
  });
}

}  // namespace
}  // namespace trainyard::executor
