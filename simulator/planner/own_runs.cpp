#include "simulator/planner/own_runs.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string_view>
#include <utility>

#include "core/document/content_hash.h"
#include "core/document/text_match.h"
#include "core/error.h"
#include "simulator/planner/search_machine.h"
#include "simulator/throughput/machine_rates.h"
#include "simulator/throughput/stack_anchor.h"

namespace trainyard::simulator {

namespace {

double& constant(StackProfile& profile, StackConstant which) {
  return profile.constants.at(static_cast<std::size_t>(which));
}

// step: predicted. Of both without what they wait for data.
void require_plausible(const OwnRun& run, const StepPrice& step) {
  const auto measured = from_si<Seconds>(run.row.step_s());
  const Seconds ideal = step.losses[static_cast<std::size_t>(StepLoss::kIdeal)];
  if (measured < ideal) {
    throw Error(
        fmt::format("took {:.3g} s a step, but its FLOPs take {:.3g} s at the accelerator's peak: above 100 % MFU",
                    measured.si(), ideal.si()),
        run.name, "is the time that of one optimizer step, and are model, batch and machine the run's?");
  }
  if (std::abs(std::log(measured / step.step_time)) > kWidestBand) {
    throw Error(fmt::format("took {:.3g} s a step, but {:.3g} s are predicted: not this model, layout or machine",
                            measured.si(), step.step_time.si()),
                run.name, "is the time that of one optimizer step, and the machine the one planned for?");
  }
}

// What a plan says of where it ran: a cluster's name, "superpod-h100", or a device's, "NVIDIA H100 80GB HBM3".
void require_generation(const std::string& name, const std::string& ran_on, const Accelerator& accelerator) {
  const std::optional<std::string_view> generation = generation_named(lower_case(ran_on));
  if (generation && *generation != generation_of(accelerator)) {
    throw Error(fmt::format("ran on {}, of another generation than {}", ran_on, accelerator.name), name,
                "plan for the cluster that it ran on, or leave the run out");
  }
}

void require_own_machine(const std::string& name, const ClusterReference& ran_on, const Machine& machine) {
  if (ran_on.device == "cpu") {
    throw Error(fmt::format("ran on processors, not on {}", machine.accelerator.name), name, "a run on GPUs");
  }
  require_generation(name, ran_on.device, machine.accelerator);
  if (ran_on.name != machine.fabric.name) {
    require_generation(name, ran_on.name, machine.accelerator);
  }
}

// Four digits of the time: as much as is measured.
std::string id_of(const std::string& what, double step_s) { return fmt::format("{}, {:.4g} s", what, step_s); }

// What ran, whatever the plan says besides of clusters, checkpoints and predictions.
std::string content_of(const Plan& plan) {
  Plan run;
  run.model = plan.model;
  run.layout = plan.layout;
  run.training = plan.training;
  return content_hash(to_json(run));
}

Seconds step_without_wait(const OwnRun& run, const Layout& layout, Seconds step) {
  if (!run.feed) {
    return step;
  }
  const std::optional<Seconds> own = without_input_stall(*run.feed, layout, step);
  if (!own) {
    throw Error(fmt::format("took {:.3g} s a step, and reading its data takes {:.3g} s: how long a step takes that "
                            "doesn't wait can't be told",
                            step.si(), input_time(*run.feed, layout).si()),
                run.name, "a run whose steps don't wait for data");
  }
  return *own;
}

Seconds with_wait(const OwnRun& run, Seconds step) {
  return run.feed ? step + input_stall(*run.feed, run.row.layouts.front(), step) : step;
}

// How far runs lie from what is predicted: the root of their mean square, in logarithms.
double distance(const StackProfile& profile, const std::vector<AnchorRun>& runs) {
  double squares = 0.0;
  for (const AnchorRun& run : runs) {
    squares += std::pow(std::log(run.measured_s / run.pricer->step_s(profile)), 2.0);
  }
  return std::sqrt(squares / static_cast<double>(runs.size()));
}

// Constants and bands.
StackProfile following(const StackProfile& profile, const std::vector<AnchorRun>& runs) {
  StackProfile after = with_scale_folded(anchored_profile(profile, runs));
  const bool first = profile.anchors.empty();
  after.name = first ? profile.name + ", anchored" : profile.name;
  // Runs that stay far off say that others may, also after one more that doesn't.
  after.band = std::min(kWidestBand, std::max(first ? profile.band_anchored : profile.band, distance(after, runs)));
  after.band_experts = (first ? 0.5 : 1.0) * profile.band_experts;  // as ChosenStack::band has it
  return after;
}

}  // namespace

OwnRun own_run(const std::string& name, const Plan& plan, const Machine& machine, Seconds step,
               const std::optional<InputFeed>& feed) {
  if (!(step > Seconds())) {
    throw Error("the measured step must take more than 0 s", name, "the time of one optimizer step");
  }
  require_own_machine(name, plan.cluster, machine);
  OwnRun run;
  run.name = name;
  run.id = id_of(content_of(plan), step.si());
  run.feed = feed;
  run.row.run.id = name;
  run.row.run.gpus = plan.layout.ranks();
  run.row.workload = {plan.model, plan.training.sequence, plan.training.global_batch};
  run.row.layouts = {plan.layout};
  run.row.machine.accelerator = machine.accelerator;
  run.row.machine.fabric = machine.fabric;
  run.row.machine.node = curve_site(machine, machine);
  const Seconds own = step_without_wait(run, plan.layout, step);
  run.row.tokens_per_s_per_gpu = run.row.tokens_per_step() / own.si() / static_cast<double>(run.row.run.gpus);
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
    runs.push_back({published.id, id_of(published.id, row.step_s()), std::move(row), {}});
  }
  if (runs.empty()) {
    throw Error(reason, where, "`trainyard validate FILE --rows` says what each row lacks");
  }
  return runs;
}

AnchoredStack anchored_on(const StackProfile& profile, const std::vector<OwnRun>& runs) {
  AnchoredStack anchored{profile, {}};
  std::vector<CasePricer> pricers;
  std::vector<AnchorRun> fresh;
  std::vector<std::string> ids = profile.anchors;
  pricers.reserve(runs.size());  // AnchorRun points into it
  for (const OwnRun& run : runs) {
    const double measured = run.row.step_s();
    const StepPrice before = pricers.emplace_back(run.row, group_cost_of(run.row.machine)).price(profile);
    require_plausible(run, before);
    const bool known = std::ranges::find(ids, run.id) != ids.end();
    if (!known) {
      ids.push_back(run.id);
      fresh.push_back({&pricers.back(), measured});
    }
    anchored.runs.push_back(
        {run.name, with_wait(run, from_si<Seconds>(measured)), with_wait(run, before.step_time), Seconds(), known});
  }
  if (!fresh.empty()) {
    anchored.profile = following(profile, fresh);
    anchored.profile.anchors = std::move(ids);
  }
  for (std::size_t i = 0; i < runs.size(); ++i) {
    anchored.runs[i].after = with_wait(runs[i], from_si<Seconds>(pricers[i].step_s(anchored.profile)));
  }
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
