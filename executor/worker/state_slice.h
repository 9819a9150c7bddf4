// StateSlice: a rank's part of what a run must not lose: parameters and the optimizer's moments.
//
// The data-parallel replicas of a parameter hold the same values, and so do the tensor-parallel ranks of a replicated
// one: `saved` shares the saving out among them, so that the ranks' saved parts are the whole state, once. There is
// no other state: weights and data order are functions of the seed, the data position and the learning rate of the
// step.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/layout/shard_spec.h"
#include "core/model/parameter.h"
#include "core/program/program.h"

namespace trainyard::executor {

enum class StateKind : std::uint8_t { kParameter, kMomentum, kVariance };

struct StateSlice {
  StateKind kind = StateKind::kParameter;
  Parameter parameter;
  std::vector<IndexRange> ranges;  // per dimension of the whole
  // Of the row-major slice `ranges`, in elements: what this rank holds, and what of it this rank saves.
  IndexRange held;
  IndexRange saved;
  BufferId buffer;
  std::int64_t offset = 0;  // of held.begin, in the buffer's elements
  float* memory = nullptr;  // of held.begin; Worker::state() fills it in

  std::string name() const;  // "NAME", "NAME/momentum", "NAME/variance"
};

// Everything that a rank holds; slices of which it holds nothing are left out. Without addresses.
std::vector<StateSlice> state_slices(const Program& program, Rank rank);

}  // namespace trainyard::executor
