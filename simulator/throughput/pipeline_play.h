// PipelinePlay: a pipeline's turns played out with the times of its passes: when each stage is done.
//
//   a pass begins when its stage is free and has made ready for it, and the pass before it, on the neighbour, has
//   arrived
//   a transfer begins when its pass is over and the one before it on the same link and way is, and takes x
//
// The turns are those of core/schedule, so that every schedule is priced by the order in which it runs; the cost is
// O(stages x chunks x micro-batches) at 2 ns a pass. Of a long step one is played that is filled and drained, of m0
// micro-batches, and each further one adds the period:
//
//   end(m) = end(m0) + (m - m0) p,   m0 = 1 to 3 pp by schedule
//   p = the busiest stage's work; interleaved, where chunks are longest on different stages, what the last of a few
//   groups of pp took; under GPipe the longest forward and the longest backward, of whatever stages; under
//   1F1B at least max over s of (sum over j >= s of t_j + 2 (pp - 1 - s) x)/(pp - s): stage s has pp - s micro-batches
//   under way to the last stage and back
//
// Times in seconds. Equal questions are answered from a small table; not thread-safe.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "core/layout/layout.h"

namespace trainyard::simulator {

struct PipelineShape {
  ScheduleKind schedule = ScheduleKind::k1f1b;
  int stages = 1;
  int chunks = 1;  // of a stage
  std::int64_t micro_batches = 1;
  friend bool operator==(const PipelineShape&, const PipelineShape&) = default;
};

// Of one chunk, one micro-batch.
struct PassTimes {
  double forward = 0.0;
  double input = 0.0;  // backward to inputs, recomputation included
  double weight = 0.0;
  double before_forward = 0.0;  // to make ready for: needs the stage alone
  double before_input = 0.0;
  double last = 0.0;  // that the last backward takes longer; of weights, where they have turns of their own
  double sum() const { return before_forward + forward + before_input + input + weight; }
  friend bool operator==(const PassTimes&, const PassTimes&) = default;
};

// When each stage has done its last pass.
using StageEnds = std::vector<double>;

class PipelinePlay {
 public:
  PipelinePlay();
  ~PipelinePlay();
  PipelinePlay(const PipelinePlay&) = delete;
  PipelinePlay& operator=(const PipelinePlay&) = delete;

  // passes: by stage, by chunk of the stage. The schedule takes so many micro-batches (stage_schedule()). Good until
  // the next call.
  const StageEnds& ends(const PipelineShape& shape, const std::vector<PassTimes>& passes, double transfer);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace trainyard::simulator
