#include "executor/run/rank_statistics.h"

#include "core/program/wire.h"

namespace trainyard::executor {

namespace {
constexpr std::uint32_t kGroupKey = 0xFFFFFFFF;  // above the program's groups
}

RankStatistics::RankStatistics(Device& device, Communicator& communicator)
    : device_(device),
      communicator_(communicator),
      memory_(device.allocate(ByteCount(kNumbers * size_of(DataType::kInt64)))) {
  for (int rank = 0; rank < communicator.size(); ++rank) {
    world_.members.emplace_back(rank);
  }
  world_.index = communicator.rank().value();
  world_.key = kGroupKey;
}

RankStatistics::~RankStatistics() { device_.free(memory_); }

void RankStatistics::maximum(std::span<std::int64_t, kNumbers> numbers) {
  if (communicator_.size() == 1) {
    return;
  }
  const ByteCount bytes(static_cast<std::int64_t>(numbers.size_bytes()));
  device_.copy_in(Stream::kHostCopy, memory_, numbers.data(), bytes);
  communicator_.all_reduce(Stream::kHostCopy, world_, CollectiveAlgorithm::kDirect, memory_,
                           even_boundaries(kNumbers, communicator_.size()), DataType::kInt64, ReduceOp::kMax);
  device_.copy_out(Stream::kHostCopy, numbers.data(), memory_, bytes);
  device_.synchronize();
}

}  // namespace trainyard::executor
