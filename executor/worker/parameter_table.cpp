#include "executor/worker/parameter_table.h"

#include <algorithm>

#include "core/error.h"
#include "core/program/operands.h"

namespace trainyard::executor {

namespace {

ParameterPlace find_or_null(const Role& role, ParameterKind kind, std::optional<int> layer,
                            ParameterPart part = ParameterPart::kWeight) {
  for (const Bucket& bucket : role.buckets) {
    for (const BucketParameter& placed : bucket.parameters) {
      if (placed.parameter.kind == kind && placed.parameter.layer == layer && placed.parameter.part == part) {
        return {&bucket, &placed};
      }
    }
  }
  return {};
}

std::optional<ParameterKind> norm_before(SegmentKind kind) {
  switch (kind) {
    case SegmentKind::kAttention:
      return ParameterKind::kAttentionNorm;
    case SegmentKind::kMlp:
      return ParameterKind::kMlpNorm;
    case SegmentKind::kHead:
      return ParameterKind::kFinalNorm;
    default:
      return std::nullopt;
  }
}

bool contains(const std::vector<BufferId>& ids, BufferId id) {
  return std::find(ids.begin(), ids.end(), id) != ids.end();
}

}  // namespace

ParameterPlace find_parameter(const Role& role, ParameterKind kind, std::optional<int> layer) {
  ParameterPlace place = find_or_null(role, kind, layer);
  if (place.parameter == nullptr && kind == ParameterKind::kHead) {
    place = find_or_null(role, ParameterKind::kEmbedding, std::nullopt);
  }
  check(place.parameter != nullptr, "a role holds the parameters of its segments");
  return place;
}

ParameterKind norm_parameter(const Role& role, const std::vector<Segment>& segments, const Instruction& norm) {
  const bool forward = norm.kind == InstructionKind::kForward || norm.kind == InstructionKind::kRecompute;
  const auto buffer =
      forward ? find_written(role, norm, BufferContent::kNormed) : find_read(role, norm, BufferContent::kNormedGrad);
  check(buffer.has_value(), "a norm touches its output or that one's gradient");
  // Forward: the next segment that reads it. Backward: the last one that wrote it.
  const std::int64_t direction = forward ? 1 : -1;
  const auto count = static_cast<std::int64_t>(role.instructions.size());
  for (std::int64_t i = norm.id.value() + direction; i >= 0 && i < count; i += direction) {
    const Instruction& other = role.instructions[static_cast<std::size_t>(i)];
    if (!other.segment || !contains(forward ? other.reads : other.writes, *buffer)) {
      continue;
    }
    if (const auto kind = norm_before(segments[other.segment->at()].kind)) {
      return *kind;
    }
  }
  check(false, "a norm is followed by attention, feed-forward or head");
  return ParameterKind::kFinalNorm;
}

std::optional<ParameterPlace> find_bias(const Role& role, ParameterKind kind, std::optional<int> layer) {
  const ParameterPlace place = find_or_null(role, kind, layer, ParameterPart::kBias);
  return place.parameter == nullptr ? std::nullopt : std::optional(place);
}

bool is_copy(const Parameter& parameter, const Coordinates& at) {
  return parameter.kind == ParameterKind::kEmbedding && at.pipeline > 0;
}

bool decays(const Parameter& parameter) { return parameter.shape.size() > 1; }

}  // namespace trainyard::executor
