// StageContext: what the parts of program generation share about one role: its place, its buffers, and the
// instructions that both passes of a layer add.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "core/plan/plan.h"
#include "core/program/gradient_group.h"
#include "core/program/role_builder.h"
#include "core/program/stage.h"
#include "core/program/stage_generator.h"

namespace trainyard {

// Which micro-batch, local chunk and layer an instruction belongs to.
struct Place {
  int microbatch = 0;
  int chunk = 0;
  std::optional<int> layer;
};

constexpr GroupId group_id(GroupKind kind) { return GroupId(static_cast<int>(kind)); }

class StageContext {
 public:
  // References must outlive it.
  StageContext(const Plan& plan, RoleKey key, SegmentTable& table, Role& role);

  const Plan& plan;
  const Layout& layout;
  const RoleKey key;
  const StageSegments segments;
  Role& role;
  RoleBuilder build;
  const std::vector<Chunk> chunks;
  std::optional<BufferId> tokens, targets;
  BufferId sums;
  std::vector<std::vector<BufferId>> states;  // optimizer's buffers, by bucket; none where they lie in host memory

  // Whether parameters lie in shards and are gathered for use; gradients in shards, and reduced every micro-batch.
  bool gathers_parameters(const Bucket& bucket) const;
  bool shards_gradients(const Bucket& bucket) const;
  // The embedding's table has a second use, at the model's end: by a tied head, by multi-token blocks. Stages that have
  // one end of the model each have a copy each.
  bool uses_table_twice() const;
  bool has_both_ends() const;
  // A stage may have both ends in chunks of their own, whose passes lie apart (ZB-V) or are of other micro-batches
  // (DualPipe): either's add to the table.
  bool table_of_two_chunks() const;

  // Elements of a bucket that this rank reduces and sums the squares of; those that it updates.
  IndexRange owned_range(const Bucket& bucket) const;
  IndexRange updated_range(const Bucket& bucket) const;
  // Numbers of the optimizer's type that it keeps per parameter: moments, and a master copy of narrower parameters.
  std::int64_t states_per_parameter() const;
  bool has_master() const;
  // The bucket that holds this kind of parameter of a layer (or of none). A bug if the stage has no such.
  const Bucket& bucket_of(std::optional<int> layer, ParameterKind kind) const;
  // What a pass reads to use them: the bucket's parameters, gathered ones where they lie in shards.
  BufferId weights_of(std::optional<int> layer, ParameterKind kind) const;
  void set_gathered(const Bucket& bucket, std::optional<BufferId> buffer) { gathered_[bucket.id.at()] = buffer; }
  std::optional<BufferId> gathered(const Bucket& bucket) const { return gathered_[bucket.id.at()]; }
  // Where a micro-batch's gradients go: the bucket's own, or whole ones that live until they are scattered.
  BufferId gradients_of(const Bucket& bucket);
  // The whole gradients, scattered now; nothing where they never were apart.
  std::optional<BufferId> take_whole_gradients(const Bucket& bucket);

  BufferId activation(BufferContent content, std::int64_t elements, MemoryCause cause = MemoryCause::kActivations);
  std::int64_t stream_elements() const;  // of the residual stream on this rank
  std::int64_t full_elements() const;    // of all its tokens

  InstructionId compute(InstructionKind kind, SegmentId segment, const Place& place, std::vector<BufferId> reads,
                        std::vector<BufferId> writes);
  // The weight half of a segment's backward, into the bucket that holds `kind`, and into another that it writes too.
  void weight_gradient(SegmentId segment, const Place& place, ParameterKind kind, std::vector<BufferId> reads,
                       const Bucket* beside = nullptr);

  Communication tensor_collective(CommunicationKind kind, std::int64_t elements) const;
  // In the wire's type; sizes are even over the group, of which this rank may be any.
  Communication group_collective(GroupKind group, int members, CommunicationKind kind, std::int64_t elements) const;
  InstructionId communicate(InstructionKind kind, Stream stream, const Place& place, std::vector<BufferId> reads,
                            std::vector<BufferId> writes, Communication communication);
  // g forward and f backward: partial sums over tp become whole. Under sequence parallelism each rank keeps
  // its share of the tokens. Returns the buffer that holds the result.
  BufferId reduce_partial(BufferId partial, const Place& place, BufferContent content, MemoryCause cause);
  // f forward and g backward under sequence parallelism: the shares of all tp ranks.
  BufferId gather_shares(BufferId share, const Place& place, BufferContent content, MemoryCause cause);

 private:
  void make_persistent_buffers();
  std::vector<BufferId> make_states(const Bucket& bucket);
  std::vector<std::pair<int, int>> written_;              // tensors with a gradient so far: kind, layer
  std::vector<std::optional<BufferId>> gathered_;         // by bucket
  std::vector<std::optional<BufferId>> whole_gradients_;  // by bucket
};

}  // namespace trainyard
