// ShardSpec: how the axes of the mesh cut a tensor, and which slice a rank holds.
//
// Memory, initialisation, ZeRO, checkpoints, resharding and export all read it, so that they agree by
// construction. Uneven cuts are allowed: index i of n over a dimension of E elements holds the range
// [i E / n, (i+1) E / n) rounded down, unless boundaries are given. Axes that cut the same dimension cut one
// after the other, in their order in `axes`; boundaries count from the start of what the earlier ones left.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/layout/mesh.h"

namespace trainyard {

struct IndexRange {
  std::int64_t begin = 0;
  std::int64_t end = 0;
  std::int64_t size() const { return end - begin; }
  friend bool operator==(const IndexRange&, const IndexRange&) = default;
};

enum class Placement : std::uint8_t {
  kShard,      // each rank along the axis holds a part
  kReplicate,  // each rank holds the same values
  kPartial,    // each rank holds a summand: needs a reduction over the axis
};

struct AxisPlacement {
  Axis axis = Axis::kTensor;
  Placement placement = Placement::kReplicate;
  // kShard: the dimension cut; unset: the flattened remainder after the other axes, row-major.
  std::optional<int> dimension;
  // kShard in whole units of this many elements along the dimension (a head's rows, a norm block).
  std::int64_t unit = 1;
  // kShard with explicit cuts, n+1 values; empty: even.
  std::vector<std::int64_t> boundaries;
  friend bool operator==(const AxisPlacement&, const AxisPlacement&) = default;
};

struct ShardSpec {
  std::vector<std::int64_t> shape;  // global
  std::vector<AxisPlacement> axes;  // an axis not named replicates
  const AxisPlacement* on(Axis axis) const;
  bool replicated_over(Axis axis) const;
  friend bool operator==(const ShardSpec&, const ShardSpec&) = default;
};

// Even cut of `elements` into n in whole units: index i's range. elements must be a multiple of unit.
IndexRange even_range(std::int64_t elements, int n, int i, std::int64_t unit = 1);

// What a rank with these coordinates holds: one range per dimension, flat cuts not applied.
std::vector<IndexRange> local_ranges(const ShardSpec& spec, const Mesh& mesh, const Coordinates& at);
// The flat cut on top of local_ranges, as a range of the row-major local tensor (all of it without one).
IndexRange flat_range(const ShardSpec& spec, const Mesh& mesh, const Coordinates& at);
std::int64_t local_elements(const ShardSpec& spec, const Mesh& mesh, const Coordinates& at);

}  // namespace trainyard
