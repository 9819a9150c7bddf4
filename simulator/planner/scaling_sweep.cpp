#include "simulator/planner/scaling_sweep.h"

#include <algorithm>
#include <utility>

namespace trainyard::simulator {

std::vector<SweepPoint> scaling_sweep(const SearchRequest& request, const std::vector<std::int64_t>& ranks,
                                      Scaling scaling, const MachinePricers& pricers, const std::stop_token& stop) {
  std::vector<SweepPoint> points;
  double reference = 0.0;  // tokens/s of a rank
  for (const std::int64_t count : ranks) {
    SearchRequest sized = request;
    sized.space.ranks = count;
    sized.machine.fabric.ranks.value = std::max(count, request.machine.fabric.ranks.value);
    sized.keep = 1;
    if (scaling == Scaling::kWeak) {
      const double batch = static_cast<double>(request.space.workload.global_batch) * static_cast<double>(count) /
                           static_cast<double>(request.space.ranks);
      sized.space.workload.global_batch = std::max<std::int64_t>(1, static_cast<std::int64_t>(batch));
    }
    const SearchResult found = search_layouts(sized, pricers(sized.space.workload, sized.machine), {}, stop);
    if (found.stopped) {
      break;
    }
    SweepPoint point;
    point.ranks = count;
    point.global_batch = sized.space.workload.global_batch;
    point.feasible = !found.best.empty();
    point.nearest_miss = found.nearest_miss;
    if (point.feasible) {
      point.best = found.best.front();
      point.tokens_per_second =
          static_cast<double>(point.global_batch * sized.space.workload.sequence) / point.best.step.step_time.si();
      const double each = point.tokens_per_second / static_cast<double>(count);
      reference = reference > 0.0 ? reference : each;
      point.efficiency = each / reference;
    }
    points.push_back(std::move(point));
  }
  return points;
}

}  // namespace trainyard::simulator
