#include "simulator/planner/planner.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <variant>

#include "core/error.h"
#include "core/plan/plan_size.h"
#include "core/program/step_summary.h"
#include "core/units/format_quantity.h"
#include "simulator/memory/memory_estimate.h"
#include "simulator/planner/summary_price.h"
#include "simulator/simulate_plan.h"

namespace trainyard::simulator {
namespace {

constexpr std::int64_t kProgressEvery = 64;

class Search {
 public:
  Search(const PlannerRequest& request, const DeviceProfile& profile)
      : request_(request),
        profile_(profile),
        per_node_(ranks_per_node(profile, request.ranks)),
        kernels_(kernel_cost(profile, per_node_)),
        collectives_(collective_cost(profile, per_node_)) {}

  PlannerResult run(const std::function<void(const PlannerProgress&)>& progress, const std::stop_token& stop) {
    std::vector<Layout> layouts =
        search_space(request_.model, request_.training, request_.ranks, request_.base, request_.limits);
    if (request_.wanted) {
      std::erase_if(layouts, [this](const Layout& layout) { return !request_.wanted(layout); });
    }
    progress_.layouts = static_cast<std::int64_t>(layouts.size());
    progress_.ranked = &result_.ranked;
    for (const Layout& layout : layouts) {
      if (stop.stop_requested()) {
        result_.stopped = true;
        break;
      }
      record(layout, closed_form(layout));
      if (++progress_.priced % kProgressEvery == 0 && progress) {
        progress(progress_);
      }
    }
    result_.considered = progress_.priced;
    sort_by_time(result_.ranked.begin(), result_.ranked.end());
    simulate_best(progress, stop);
    return std::move(result_);
  }

 private:
  using Iterator = std::vector<Estimate>::iterator;

  // Stable: equal times keep the order of the search space.
  static void sort_by_time(Iterator begin, Iterator end) {
    std::stable_sort(begin, end, [](const Estimate& a, const Estimate& b) { return a.step_time < b.step_time; });
  }

  Outcome closed_form(const Layout& layout) const {
    if (std::optional<Infeasible> impossible = why_impossible(request_.model, request_.training, layout)) {
      return *impossible;
    }
    if (request_.capabilities) {
      if (std::optional<Infeasible> unsupported = why_not(*request_.capabilities, request_.model, layout)) {
        return *unsupported;
      }
    }
    const Plan plan = make_plan(request_, profile_, layout);
    const StepSummary summary = summarize(plan);
    Estimate estimate;
    estimate.layout = layout;
    if (std::optional<Infeasible> too_large = check_memory(summary, estimate)) {
      return *too_large;
    }
    const SummaryPrice priced = price(summary, layout, {profile_, *kernels_, *collectives_, request_.ranks});
    estimate.parts = priced.parts;
    set_step_time(estimate, priced.step_time, plan, profile_);
    return estimate;
  }

  std::optional<Infeasible> check_memory(const StepSummary& summary, Estimate& estimate) const {
    for (const StageSummary& stage : summary.stages) {
      if (stage.peak_estimate > estimate.memory_peak) {
        estimate.memory_peak = stage.peak_estimate;
        estimate.memory_stage = stage.stage;
      }
    }
    estimate.memory_peak += runtime_memory(profile_, per_node_);
    const ByteCount available = memory_per_rank(profile_, per_node_);
    if (estimate.memory_peak <= available) {
      return std::nullopt;
    }
    return Infeasible{InfeasibleReason::kMemory,
                      fmt::format("stage {} needs {} of {}, {} too much", estimate.memory_stage,
                                  format_quantity(estimate.memory_peak), format_quantity(available),
                                  format_quantity(estimate.memory_peak - available)),
                      estimate.memory_peak, available};
  }

  void record(const Layout& layout, Outcome outcome) {
    if (Estimate* estimate = std::get_if<Estimate>(&outcome)) {
      result_.ranked.push_back(std::move(*estimate));
    } else {
      rule_out(layout, std::get<Infeasible>(std::move(outcome)));
    }
  }

  void rule_out(const Layout& layout, Infeasible why) {
    const auto known = std::find_if(result_.ruled_out.begin(), result_.ruled_out.end(), [&](const RuledOut& entry) {
      return entry.reason == why.reason &&
             (why.reason == InfeasibleReason::kMemory || entry.example.detail == why.detail);
    });
    if (known == result_.ruled_out.end()) {
      result_.ruled_out.push_back({why.reason, 1, layout, std::move(why)});
      return;
    }
    ++known->count;
    if (why.needed && known->example.needed && *why.needed < *known->example.needed) {
      known->example_layout = layout;
      known->example = std::move(why);
    }
  }

  // Replaces the best closed-form estimates by simulated ones; those that don't fit after all drop out.
  void simulate_best(const std::function<void(const PlannerProgress&)>& progress, const std::stop_token& stop) {
    std::vector<Estimate>& ranked = result_.ranked;
    const auto least = static_cast<std::size_t>(std::max(request_.simulated, 1));
    std::size_t next = 0;
    std::optional<Seconds> best;
    const auto wanted = [&] {
      if (next >= ranked.size()) {
        return false;
      }
      const bool before_best = best && ranked[next].step_time < *best;
      return next < least || (before_best && progress_.simulated < kMostSimulated);
    };
    while (wanted()) {
      if (stop.stop_requested()) {
        result_.stopped = true;
        break;
      }
      const Plan plan = make_plan(request_, profile_, ranked[next].layout);
      auto outcome = simulate_plan(plan, profile_, TraceDetail::kNone);
      if (const Simulation* simulation = std::get_if<Simulation>(&outcome)) {
        const StepParts parts = ranked[next].parts;
        ranked[next] = simulation->estimate;
        ranked[next].parts = parts;
        best = best ? min(*best, ranked[next].step_time) : ranked[next].step_time;
        ++next;
        ++progress_.simulated;
      } else {
        rule_out(ranked[next].layout, std::get<Infeasible>(std::move(outcome)));
        ranked.erase(ranked.begin() + static_cast<std::ptrdiff_t>(next));
      }
      if (progress) {
        progress(progress_);
      }
    }
    sort_by_time(ranked.begin(), ranked.begin() + static_cast<std::ptrdiff_t>(next));
  }

  const PlannerRequest& request_;
  const DeviceProfile& profile_;
  std::int64_t per_node_;
  std::unique_ptr<const KernelCost> kernels_;
  std::unique_ptr<const CollectiveCost> collectives_;
  PlannerProgress progress_;
  PlannerResult result_;
};

}  // namespace

Plan make_plan(const PlannerRequest& request, const DeviceProfile& profile, const Layout& layout) {
  Plan plan;
  plan.model = request.model;
  plan.training = request.training;
  plan.layout = layout;
  plan.cluster.name = profile.name;
  plan.cluster.device = profile.device;
  plan.cluster.ranks_per_node = ranks_per_node(profile, request.ranks);
  return plan;
}

PlannerResult plan_layouts(const PlannerRequest& request, const DeviceProfile& profile,
                           const std::function<void(const PlannerProgress&)>& progress, const std::stop_token& stop) {
  if (request.ranks < 1 || request.ranks > kMostRanks) {
    throw Error(fmt::format("a plan has 1 to {} ranks, not {}", kMostRanks, request.ranks), "ranks",
                "give the number of devices");
  }
  return Search(request, profile).run(progress, stop);
}

}  // namespace trainyard::simulator
