// Typed indices: a Rank is not a BufferId, although both count from zero.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>

namespace trainyard {

template <class Tag>
class Index {
 public:
  constexpr Index() = default;
  explicit constexpr Index(std::int64_t value) : value_(static_cast<std::int32_t>(value)) {}
  constexpr std::int32_t value() const { return value_; }
  // For subscripting a vector that this index counts.
  constexpr std::size_t at() const { return static_cast<std::size_t>(value_); }
  friend constexpr auto operator<=>(Index, Index) = default;

 private:
  std::int32_t value_ = 0;
};

using Rank = Index<struct RankTag>;                  // one device's place in a job
using RoleId = Index<struct RoleTag>;                // ranks whose instructions are equal up to peers
using GroupId = Index<struct GroupTag>;              // a kind of process group, see program/group.h
using BufferId = Index<struct BufferTag>;            // a buffer of a role
using SegmentId = Index<struct SegmentTag>;          // an entry of a program's segment table
using BucketId = Index<struct BucketTag>;            // gradients reduced together
using InstructionId = Index<struct InstructionTag>;  // ordinal in the role's list

}  // namespace trainyard

template <class Tag>
struct std::hash<trainyard::Index<Tag>> {
  std::size_t operator()(trainyard::Index<Tag> index) const noexcept {
    return std::hash<std::int32_t>{}(index.value());
  }
};
