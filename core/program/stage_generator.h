// Writes the instructions of one role: the schedule's slots in order, each slot layer by layer.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "core/layout/mesh.h"
#include "core/plan/plan.h"
#include "core/program/role_builder.h"
#include "core/program/segment_shape.h"
#include "core/program/stage.h"
#include "core/schedule/schedule.h"

namespace trainyard {

// Where in the tensor and data groups the role's ranks sit: all that sets two ranks of a stage apart.
struct RoleKey {
  int stage = 0;
  int tensor_index = 0;
  int data_index = 0;
};

// Of one kind of layer; those that it hasn't are unset.
struct LayerSegments {
  LayerSizes sizes;
  std::optional<SegmentId> attention;
  std::optional<SegmentId> mlp;  // dense, or of the shared experts
  std::optional<SegmentId> query_key_value, own_scores, other_scores, projection;
  std::optional<SegmentId> router, experts, combine;
};

// Segments and sizes that all slots of a stage share.
struct StageSegments {
  SegmentShape shape;
  SegmentId embedding;
  SegmentId first_norm;  // nothing to add: the chunk's input is the residual stream
  SegmentId norm;
  SegmentId final_norm;
  std::vector<LayerSegments> kinds;
  std::vector<int> kind_of_layer;  // multi-token blocks' behind the model's own
  SegmentId residual;
  SegmentId head;
  SegmentId loss;
  std::optional<SegmentId> merge_norm, merge, merge_share;  // of multi-token blocks

  const LayerSegments& layer(std::int64_t index) const {
    return kinds[static_cast<std::size_t>(kind_of_layer[static_cast<std::size_t>(index)])];
  }
};
StageSegments stage_segments(const Plan& plan, int tensor_index, SegmentTable& table);

// Algorithm of a collective: direct where asked for, for pairs and for small payloads in small groups (one
// step), a tree for small payloads in large ones, the ring otherwise.
CollectiveAlgorithm choose_algorithm(CommunicationKind kind, std::int64_t bytes, int group_size, bool strict);

Communication make_collective(CommunicationKind kind, CollectiveAlgorithm algorithm, GroupId group,
                              const std::vector<std::int64_t>& boundaries, int index, DataType type,
                              std::optional<BucketId> partition = {});

Role generate_role(const Plan& plan, ProgramKind kind, RoleKey key, SegmentTable& table);

// A training step of some micro-batches only, from which the whole one is made (outline.h). A chunk's first and last of
// `slots` do what its first and last micro-batch do. Receives lie where what they get is used, and sent gradients are
// not held.
struct SampledRole {
  Role role;
  std::vector<std::size_t> first;  // by slot: its first instruction; and the first behind all slots
};
SampledRole sample_role(const Plan& plan, RoleKey key, const std::vector<Slot>& slots, SegmentTable& table);

}  // namespace trainyard
