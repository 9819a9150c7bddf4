// Message slots: Gloo matches a send with a receive of the same pair of ranks by a 64-bit number.
//
//   collective      0 0 | group key (32) | sequence on the group mod 2^18 | step mod 2^12
//   point to point  1 0 | tag (62)
//   barrier         1 1 | sequence | step
//
// So collectives of different groups, and of one group on different streams, can't take each other's
// messages. Messages with the same slot keep their order; that is why the moduli do no harm.
#pragma once

#include <cstdint>

namespace trainyard::executor {

constexpr int kSequenceBits = 18;
constexpr int kStepBits = 12;
constexpr std::uint64_t kMaxTag = (std::uint64_t{1} << 62) - 1;

constexpr std::uint64_t sequence_slot(std::uint64_t sequence) {
  return (sequence & ((std::uint64_t{1} << kSequenceBits) - 1)) << kStepBits;
}
constexpr std::uint64_t collective_slot(std::uint32_t group_key, std::uint64_t sequence) {
  return std::uint64_t{group_key} << (kSequenceBits + kStepBits) | sequence_slot(sequence);
}
constexpr std::uint64_t point_to_point_slot(std::uint64_t tag) { return std::uint64_t{1} << 63 | tag; }
constexpr std::uint64_t barrier_slot(std::uint64_t sequence) {
  return std::uint64_t{3} << 62 | sequence_slot(sequence);
}
constexpr std::uint64_t step_slot(std::uint64_t slot, int step) {
  return slot | (static_cast<std::uint64_t>(step) & ((std::uint64_t{1} << kStepBits) - 1));
}

}  // namespace trainyard::executor
