// PipelinePlay: a pipeline's turns played out with the times of its passes: when each stage is done.
//
//   a pass begins when its stage is free and has made ready for it, and the pass before it, on the neighbour, has
//   arrived
//   a transfer begins when its pass is over and the one before it on the same link and way is, and takes x
//   gradients that ZeRO 2 scatters go on beside the passes and may hold them up (scatter_stream.h)
//
// The turns are those of core/schedule, so that every schedule is priced by the order in which it runs; the cost is
// O(stages x chunks x micro-batches) at 2 ns a pass. Of a long step one is played that is filled and drained, of m0
// micro-batches, and each further one adds the period:
//
//   end(m) = end(m0) + (m - m0) p,   m0 = 1 to 3 pp by schedule
//   p: pipeline_period.h
//
// Times in seconds. Equal questions are answered from a small table; not thread-safe.
#pragma once

#include <memory>
#include <vector>

#include "simulator/throughput/pass_times.h"

namespace trainyard::simulator {

// When a stage has done its last pass, and when all is scattered.
struct StageEnd {
  double passes = 0.0;
  double scattered = 0.0;
};
using StageEnds = std::vector<StageEnd>;

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
