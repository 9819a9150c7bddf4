// StateSlice: a rank's part of what a run must not lose: parameters and the optimizer's moments.
//
// The data-parallel replicas of a parameter hold the same values, and so do the tensor-parallel ranks of a replicated
// one and the two ends of a pipeline that share a tied table: `saved` shares the saving out among them, so that the
// ranks' saved parts are the whole state, once. There is no other state but fp16's loss scale (loss_scale.h): weights
// and data order are functions of the seed, the data position and the learning rate of the step.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/layout/shard_spec.h"
#include "core/model/parameter.h"
#include "core/program/program.h"
#include "executor/device/values.h"

namespace trainyard::executor {

// kMaster: the fp32 copy of narrower parameters. It is saved under the parameter's name in the parameter's place, which
// are its rounded values: a checkpoint is the same whatever the working copy's type.
enum class StateKind : std::uint8_t { kParameter, kMomentum, kVariance, kMaster };

struct StateSlice {
  StateKind kind = StateKind::kParameter;
  Parameter parameter;
  std::vector<IndexRange> ranges;  // per dimension of the whole
  // Of the row-major slice `ranges`, in elements: what this rank holds, and what of it this rank saves.
  IndexRange held;
  IndexRange saved;
  BufferId buffer;
  std::int64_t offset = 0;  // of held.begin, in the buffer's elements
  Values memory;            // of held.begin; Worker::state() fills it in. What is saved is fp32

  std::string name() const;  // "NAME", "NAME/momentum", "NAME/variance"
};

// The buffer that lives from step to step with this content of a bucket; null where there is none.
const Buffer* find_persistent(const Role& role, BufferContent content, BucketId bucket);

// Everything that a rank holds; slices of which it holds nothing are left out. Without addresses.
std::vector<StateSlice> state_slices(const Program& program, Rank rank);

}  // namespace trainyard::executor
