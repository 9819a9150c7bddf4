#include "simulator/throughput/scatter_stream.h"

#include "core/schedule/schedule.h"

namespace trainyard::simulator {

namespace {

double layer_pass(const PassTimes& pass, bool apart) {
  const Scattering& behind = pass.scattering;
  const double backward = pass.weight + (apart ? 0.0 : pass.input);
  return behind.layers > 0.0 ? (backward - behind.head_pass - behind.embedding_pass) / behind.layers : 0.0;
}

}  // namespace

Scatter scatter_of(const PassTimes& pass, SlotKind kind, bool apart) {
  const Scattering& behind = pass.scattering;
  switch (kind) {
    case SlotKind::kForward:
      return {{}, 0.0, behind.slows_forward};
    case SlotKind::kBackwardInput:
      if (apart) {
        return {{}, 0.0, behind.slows_input};
      }
      [[fallthrough]];
    default:
      return {behind, layer_pass(pass, apart), behind.slows_weight};
  }
}

bool scatters_gradients(const std::vector<PassTimes>& passes) {
  return std::any_of(passes.begin(), passes.end(), [](const PassTimes& pass) { return pass.scattering.layers > 0.0; });
}

std::vector<PassTimes> beside_scattering(const PipelineShape& shape, const std::vector<PassTimes>& passes) {
  constexpr int kRounds = 3;  // the last: as any behind it
  const bool apart = weights_apart(shape.schedule);
  const auto chunks = static_cast<std::size_t>(shape.chunks);
  std::vector<PassTimes> found = passes;
  for (std::size_t first = 0; first < passes.size(); first += chunks) {
    ScatterStream stream;
    double now = 0.0;
    for (int round = 0; round < kRounds; ++round) {
      for (std::size_t i = first; i < first + chunks; ++i) {
        const PassTimes& pass = passes[i];
        const double begin = now;
        double alone = pass.weight + pass.input;
        if (shape.schedule != ScheduleKind::kGpipe) {
          now = stream.after(now, pass.forward, scatter_of(pass, SlotKind::kForward, apart));
          alone += pass.forward;
        }
        if (apart) {
          now = stream.after(now, pass.input, scatter_of(pass, SlotKind::kBackwardInput, apart));
        }
        const double backward = pass.weight + (apart ? 0.0 : pass.input);
        now = stream.after(now, backward, scatter_of(pass, SlotKind::kBackwardWeight, apart));
        now = std::max(now, stream.one_buffer());
        found[i].weight = pass.weight + (now - begin) - alone;
      }
    }
  }
  return found;
}

}  // namespace trainyard::simulator
