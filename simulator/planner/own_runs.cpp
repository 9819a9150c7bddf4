#include "simulator/planner/own_runs.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>

#include "core/error.h"
#include "simulator/planner/search_machine.h"
#include "simulator/throughput/machine_rates.h"
#include "simulator/throughput/stack_anchor.h"

namespace trainyard::simulator {

namespace {

constexpr double kFarthest = 7.0;  // e^2 is the widest interval that a profile may have

double& constant(StackProfile& profile, StackConstant which) {
  return profile.constants.at(static_cast<std::size_t>(which));
}

void require_plausible(const AnchorEffect& effect) {
  const double ratio = effect.measured / effect.before;
  if (ratio < 1.0 / kFarthest || ratio > kFarthest) {
    throw Error(fmt::format("took {:.3g} s a step, but {:.3g} s are predicted: not this model, layout or machine",
                            effect.measured.si(), effect.before.si()),
                effect.name, "is the time that of one optimizer step, and the machine the one planned for?");
  }
}

}  // namespace

OwnRun own_run(const std::string& name, const Plan& plan, const Machine& machine, Seconds step) {
  if (!(step > Seconds())) {
    throw Error("the measured step must take more than 0 s", name, "the time of one optimizer step");
  }
  OwnRun run;
  run.name = name;
  run.row.run.id = name;
  run.row.run.gpus = plan.layout.ranks();
  run.row.workload = {plan.model, plan.training.sequence, plan.training.global_batch};
  run.row.layouts = {plan.layout};
  run.row.machine.accelerator = machine.accelerator;
  run.row.machine.fabric = machine.fabric;
  run.row.machine.node = curve_site(machine, machine);
  run.row.tokens_per_s_per_gpu = run.row.tokens_per_step() / step.si() / static_cast<double>(run.row.run.gpus);
  return run;
}

std::vector<OwnRun> own_runs(const std::string& text, const std::string& where, const Accelerator& accelerator) {
  std::vector<OwnRun> runs;
  std::string reason = "holds no row";
  for (const PublishedRun& published : parse_published_throughput(text, where)) {
    ThroughputCase row = make_case(published, {});
    if (!row.reason.empty() || !(row.tokens_per_s_per_gpu > 0.0)) {
      reason = fmt::format("{} can't be priced: {}", published.id, row.reason.empty() ? "not measured" : row.reason);
      continue;
    }
    if (row.machine.generation != generation_of(accelerator)) {
      reason =
          fmt::format("{} ran on {}, of another generation than {}", published.id, published.gpu, accelerator.name);
      continue;
    }
    runs.push_back({published.id, std::move(row)});
  }
  if (runs.empty()) {
    throw Error(reason, where, "`trainyard validate FILE --rows` says what each row lacks");
  }
  return runs;
}

AnchoredStack anchored_on(const StackProfile& profile, const std::vector<OwnRun>& runs) {
  AnchoredStack anchored;
  std::vector<CasePricer> pricers;
  std::vector<AnchorRun> measured;
  pricers.reserve(runs.size());  // AnchorRun points into it
  for (const OwnRun& run : runs) {
    pricers.emplace_back(run.row, group_cost_of(run.row.machine));
    measured.push_back({&pricers.back(), run.row.step_s()});
    anchored.runs.push_back(
        {run.name, from_si<Seconds>(run.row.step_s()), from_si<Seconds>(pricers.back().step_s(profile)), Seconds()});
    require_plausible(anchored.runs.back());
  }
  anchored.profile = with_scale_folded(anchored_profile(profile, measured));
  double squares = 0.0;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    AnchorEffect& run = anchored.runs[i];
    run.after = from_si<Seconds>(pricers[i].step_s(anchored.profile));
    squares += std::pow(std::log(run.measured / run.after), 2.0);
  }
  anchored.profile.name = profile.anchored ? profile.name : profile.name + ", anchored";
  anchored.profile.anchored = true;
  // A run that stays far off says that the others may.
  anchored.profile.band = std::max(profile.band_anchored, std::sqrt(squares / static_cast<double>(runs.size())));
  anchored.profile.band_experts = (profile.anchored ? 1.0 : 0.5) * profile.band_experts;  // as ChosenStack::band has it
  return anchored;
}

StackProfile with_scale_folded(const StackProfile& profile) {
  StackProfile folded = profile;
  for (const StackConstant rate : {StackConstant::kGemm, StackConstant::kMemory}) {
    constant(folded, rate) /= profile.scale;
  }
  if (profile.attention != AttentionKernel::kUnfused) {  // whose rates are factors on the two above
    constant(folded, StackConstant::kAttention) /= profile.scale;
  }
  for (const StackConstant time :
       {StackConstant::kGemmOverhead, StackConstant::kHost, StackConstant::kCommunication, StackConstant::kSkew}) {
    constant(folded, time) *= profile.scale;
  }
  folded.scale = 1.0;
  return folded;
}

}  // namespace trainyard::simulator
