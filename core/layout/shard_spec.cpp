#include "core/layout/shard_spec.h"

#include "core/error.h"

namespace trainyard {

namespace {

// Cuts `whole` as the placement says and returns the part of this index.
IndexRange cut(const IndexRange& whole, const AxisPlacement& placement, int members, int index) {
  if (placement.boundaries.empty()) {
    const IndexRange part = even_range(whole.size(), members, index, placement.unit);
    return {whole.begin + part.begin, whole.begin + part.end};
  }
  const std::vector<std::int64_t>& bounds = placement.boundaries;
  check(bounds.size() == static_cast<std::size_t>(members) + 1, "a cut into n parts has n+1 boundaries");
  check(bounds.front() == 0 && bounds.back() == whole.size(), "boundaries cover the dimension");
  const auto i = static_cast<std::size_t>(index);
  check(bounds[i] <= bounds[i + 1], "boundaries ascend");
  return {whole.begin + bounds[i], whole.begin + bounds[i + 1]};
}

}  // namespace

const AxisPlacement* ShardSpec::on(Axis axis) const {
  for (const AxisPlacement& placement : axes) {
    if (placement.axis == axis) {
      return &placement;
    }
  }
  return nullptr;
}

bool ShardSpec::replicated_over(Axis axis) const {
  const AxisPlacement* placement = on(axis);
  return placement == nullptr || placement->placement == Placement::kReplicate;
}

IndexRange even_range(std::int64_t elements, int n, int i, std::int64_t unit) {
  check(n >= 1 && i >= 0 && i < n, "index within the group");
  check(elements >= 0 && unit >= 1 && elements % unit == 0, "a cut in whole units needs a multiple of the unit");
  const std::int64_t units = elements / unit;
  return {i * units / n * unit, (i + 1) * units / n * unit};
}

std::vector<IndexRange> local_ranges(const ShardSpec& spec, const Mesh& mesh, const Coordinates& at) {
  std::vector<IndexRange> ranges;
  ranges.reserve(spec.shape.size());
  for (const std::int64_t extent : spec.shape) {
    ranges.push_back({0, extent});
  }
  for (const AxisPlacement& placement : spec.axes) {
    if (placement.placement == Placement::kShard && placement.dimension) {
      const int dimension = *placement.dimension;
      check(dimension >= 0 && static_cast<std::size_t>(dimension) < ranges.size(), "cut of an existing dimension");
      IndexRange& range = ranges[static_cast<std::size_t>(dimension)];
      range = cut(range, placement, mesh.size(placement.axis), at.along(placement.axis));
    }
  }
  return ranges;
}

IndexRange flat_range(const ShardSpec& spec, const Mesh& mesh, const Coordinates& at) {
  IndexRange flat{0, 1};
  for (const IndexRange& range : local_ranges(spec, mesh, at)) {
    flat.end *= range.size();
  }
  for (const AxisPlacement& placement : spec.axes) {
    if (placement.placement == Placement::kShard && !placement.dimension) {
      flat = cut(flat, placement, mesh.size(placement.axis), at.along(placement.axis));
    }
  }
  return flat;
}

std::int64_t local_elements(const ShardSpec& spec, const Mesh& mesh, const Coordinates& at) {
  return flat_range(spec, mesh, at).size();
}

}  // namespace trainyard
