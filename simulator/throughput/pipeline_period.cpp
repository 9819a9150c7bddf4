#include "simulator/throughput/pipeline_period.h"

#include <algorithm>
#include <cstddef>

namespace trainyard::simulator {

namespace {

// What a micro-batch adds under GPipe, whose stages do all forwards before any backward.
double forward_and_backward(const std::vector<PassTimes>& passes) {
  double forward = 0.0;
  double backward = 0.0;
  for (const PassTimes& pass : passes) {
    forward = std::max(forward, pass.before_forward + pass.forward);
    backward = std::max(backward, pass.before_input + pass.input + pass.weight);
  }
  return forward + backward;
}

// What a micro-batch adds to the busiest stage's work, on average.
double busiest(const PipelineShape& shape, const std::vector<PassTimes>& passes) {
  const double each = shape.schedule == ScheduleKind::kDualPipe ? 0.5 : 1.0;
  const auto chunks = static_cast<std::size_t>(shape.chunks);
  double most = 0.0;
  for (std::size_t first = 0; first < passes.size(); first += chunks) {
    double own = 0.0;
    for (std::size_t i = first; i < first + chunks; ++i) {
      own += each * passes[i].sum();
    }
    most = std::max(most, own);
  }
  return most;
}

// Of a micro-batch under 1F1B: on its way from stage s to the last and back while s has as many as it may.
double round_trip(const std::vector<PassTimes>& passes, double transfer) {
  double longest = 0.0;
  double way = 0.0;
  double stages = 0.0;
  for (auto pass = passes.rbegin(); pass != passes.rend(); ++pass) {
    way += pass->forward + pass->input + pass->weight;
    stages += 1.0;
    longest = std::max(longest, (way + 2.0 * (stages - 1.0) * transfer) / stages);
  }
  return longest;
}

}  // namespace

bool held_up_by_chunks(const PipelineShape& shape, const std::vector<PassTimes>& passes) {
  if (shape.schedule != ScheduleKind::kInterleaved) {
    return false;
  }
  constexpr double kNegligible = 0.01;
  const auto chunks = static_cast<std::size_t>(shape.chunks);
  double in_step = 0.0;  // the longest of each chunk
  for (std::size_t chunk = 0; chunk < chunks; ++chunk) {
    double longest = 0.0;
    for (std::size_t i = chunk; i < passes.size(); i += chunks) {
      longest = std::max(longest, passes[i].sum());
    }
    in_step += longest;
  }
  return in_step > (1.0 + kNegligible) * busiest(shape, passes);
}

std::int64_t settled(ScheduleKind kind) {
  switch (kind) {
    case ScheduleKind::kGpipe:
    case ScheduleKind::k1f1b:
    case ScheduleKind::kInterleaved:
      return 1;
    case ScheduleKind::kDualPipe:
      return 3;
    default:
      return 2;
  }
}

double period(const PipelineShape& shape, const std::vector<PassTimes>& passes, double transfer) {
  switch (shape.schedule) {
    case ScheduleKind::kGpipe:
      return forward_and_backward(passes);
    case ScheduleKind::k1f1b:
      return std::max(busiest(shape, passes), round_trip(passes, transfer));
    default:
      return busiest(shape, passes);
  }
}

}  // namespace trainyard::simulator
