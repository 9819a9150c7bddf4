#include "executor/calibration/collective_timer.h"

#include <algorithm>
#include <limits>

#include "core/error.h"
#include "core/program/wire.h"

namespace trainyard::executor {
namespace {

constexpr std::uint32_t kKeyOfPartitions = 0x7ca11000;  // plus the group size; programs number theirs from 0
constexpr std::uint64_t kFirstTag = std::uint64_t{0x7ca1} << 40;

Seconds median(std::vector<std::int64_t> nanoseconds) {
  const auto middle = nanoseconds.begin() + static_cast<std::ptrdiff_t>(nanoseconds.size() / 2);
  std::nth_element(nanoseconds.begin(), middle, nanoseconds.end());
  return from_si<Seconds>(static_cast<double>(*middle) * 1e-9);
}

}  // namespace

GroupPartition partition(const Communicator& communicator, int group_size) {
  check(group_size >= 1 && group_size <= communicator.size(), "a group of some of the ranks");
  const int rank = communicator.rank().value();
  GroupPartition result{.group_size = group_size, .groups = communicator.size() / group_size, .own = 0, .handle = {}};
  result.own = std::min(rank / group_size, result.groups);
  if (result.own < result.groups) {
    for (int i = 0; i < group_size; ++i) {
      result.handle.members.emplace_back(result.own * group_size + i);
    }
    result.handle.index = rank % group_size;
    result.handle.key = kKeyOfPartitions + static_cast<std::uint32_t>(group_size);
  }
  return result;
}

CollectiveTimer::CollectiveTimer(Device& device, Communicator& communicator, ByteCount largest)
    : device_(device),
      communicator_(communicator),
      world_(partition(communicator, communicator.size()).handle),
      in_(device.allocate(largest)),
      out_(device.allocate(largest + communicator.size() * ByteCount(size_of(DataType::kFp32)))),  // uneven all-to-all
      next_tag_(kFirstTag) {}

CollectiveTimer::~CollectiveTimer() {
  device_.free(in_);
  device_.free(out_);
}

void CollectiveTimer::maximize(std::vector<std::int64_t>& values) {
  const ByteCount bytes(static_cast<std::int64_t>(values.size() * sizeof values[0]));
  void* memory = device_.allocate(bytes);
  device_.copy_in(Stream::kData, memory, values.data(), bytes);
  communicator_.all_reduce(Stream::kData, world_, CollectiveAlgorithm::kDirect, memory,
                           even_boundaries(static_cast<std::int64_t>(values.size()), communicator_.size()),
                           DataType::kInt64, ReduceOp::kMax);
  device_.copy_out(Stream::kData, values.data(), memory, bytes);
  device_.synchronize();
  device_.free(memory);
}

void CollectiveTimer::post_send(Stream stream, const GroupHandle& group, ByteCount bytes) {
  check(group.members.size() == 2, "a message has two ends");
  if (group.index == 0) {
    communicator_.send(stream, group.members[1], next_tag_, in_, bytes);
  } else {
    communicator_.recv(stream, group.members[0], next_tag_, in_, bytes);
  }
  ++next_tag_;
}

// Every member sends us its chunk at our index, so that all we receive are of one size.
void CollectiveTimer::post_all_to_all(Stream stream, const GroupHandle& group, const std::vector<std::int64_t>& cuts) {
  const auto own = static_cast<std::size_t>(group.index);
  std::vector<std::int64_t> received;
  for (std::size_t member = 0; member < cuts.size(); ++member) {
    received.push_back(static_cast<std::int64_t>(member) * (cuts[own + 1] - cuts[own]));
  }
  communicator_.all_to_all(stream, group, in_, cuts, out_, received, DataType::kFp32);
}

void CollectiveTimer::post(Stream stream, const GroupHandle& group, const CollectiveSample& sample) {
  constexpr DataType kType = DataType::kFp32;
  const std::int64_t elements = sample.payload.value() / size_of(kType);
  const std::vector<std::int64_t> cuts = even_boundaries(elements, static_cast<int>(group.members.size()));
  switch (sample.kind) {
    case CommunicationKind::kAllReduce:
      return communicator_.all_reduce(stream, group, sample.algorithm, in_, cuts, kType, ReduceOp::kSum);
    case CommunicationKind::kReduceScatter:
      return communicator_.reduce_scatter(stream, group, sample.algorithm, in_, cuts, kType);
    case CommunicationKind::kAllGather:
      return communicator_.all_gather(stream, group, sample.algorithm, in_, cuts, kType);
    case CommunicationKind::kBroadcast:
      return communicator_.broadcast(stream, group, sample.algorithm, in_, elements, kType);
    case CommunicationKind::kAllToAll:
      return post_all_to_all(stream, group, cuts);
    case CommunicationKind::kSend:
      return post_send(stream, group, sample.payload);
    case CommunicationKind::kRecv:
      break;
  }
  check(false, "a receive is timed with its send");
}

Seconds CollectiveTimer::time(const CollectiveSample& sample, int repeats) {
  const GroupPartition groups = partition(communicator_, sample.group_size);
  return time_groups(Stream::kTensor, groups, repeats, [&] { post(Stream::kTensor, groups.handle, sample); });
}

Seconds CollectiveTimer::time(Stream stream, int repeats, const std::function<void()>& post) {
  return time_groups(stream, partition(communicator_, communicator_.size()), repeats, post);
}

Seconds CollectiveTimer::time_groups(Stream stream, const GroupPartition& groups, int repeats,
                                     const std::function<void()>& post) {
  // Starts, then ends, of every group in every repeat; the maximum over ranks makes them the last member's.
  const auto at = [&](int group, int repeat) { return static_cast<std::size_t>(group * repeats + repeat); };
  const std::size_t runs = at(groups.groups, 0);
  std::vector<std::int64_t> clocks(2 * runs, std::numeric_limits<std::int64_t>::min());
  for (int repeat = 0; repeat < repeats; ++repeat) {
    SliceClock clock;
    communicator_.barrier();
    if (groups.own < groups.groups) {
      device_.begin_slice(stream, &clock);
      post();
      device_.end_slice(stream, &clock);
      device_.synchronize();
      clocks[at(groups.own, repeat)] = clock.begin;
      clocks[runs + at(groups.own, repeat)] = clock.end;
    }
  }
  communicator_.barrier();
  maximize(clocks);
  std::vector<std::int64_t> slowest(static_cast<std::size_t>(repeats));
  for (int group = 0; group < groups.groups; ++group) {
    for (int repeat = 0; repeat < repeats; ++repeat) {
      std::int64_t& time = slowest[static_cast<std::size_t>(repeat)];
      time = std::max(time, clocks[runs + at(group, repeat)] - clocks[at(group, repeat)]);
    }
  }
  return median(std::move(slowest));
}

}  // namespace trainyard::executor
