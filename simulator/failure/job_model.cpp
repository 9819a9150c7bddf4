#include "simulator/failure/job_model.h"

#include <fmt/format.h>

#include <cmath>

#include "core/error.h"
#include "simulator/failure/ranged_inputs.h"

namespace trainyard::simulator {
namespace {

[[noreturn]] void refuse(const std::string& what, const std::string& hint) {
  throw Error(what, "failure model of the job", hint);
}

void require_ranges(const JobModel& job) {
  for (const RangedInput& input : ranged_inputs(job)) {
    const bool share = input.kind == RangeKind::kShare;
    for (const double x : {input.value, input.low, input.high}) {
      if (!std::isfinite(x) || x < 0.0 || (share && x > 1.0)) {
        refuse(fmt::format("{} is {}", input.name, x),
               share ? "a share lies between 0 and 1" : "give a number that isn't negative");
      }
    }
    if (input.low > input.value || input.value > input.high) {
      refuse(fmt::format("{}: {} doesn't lie between {} and {}", input.name, input.value, input.low, input.high),
             "a range has its value inside");
    }
  }
}

void require_hazards(const JobModel& job) {
  for (const Hazard& hazard : job.hazards) {
    if (hazard.nodes_down < 0 || hazard.nodes_down > job.nodes) {
      refuse(fmt::format("{} takes down {} of {} nodes", hazard.name, hazard.nodes_down, job.nodes),
             "no more than the job has");
    }
    if (hazard.law == ArrivalLaw::kWeibull && !(hazard.weibull_shape > 0.05 && hazard.weibull_shape <= 20.0)) {
      refuse(fmt::format("{}: Weibull shape {}", hazard.name, hazard.weibull_shape), "between 0.05 and 20");
    }
    if (hazard.law == ArrivalLaw::kFrailty && !job.frailty) {
      refuse(fmt::format("{} goes by bad nodes, but the job has no frailty", hazard.name), "set JobModel::frailty");
    }
  }
}

void require_level(const CheckpointLevel& level, const char* name) {
  if (!(level.interval.si() > 0.0) || !std::isfinite(level.interval.si())) {
    refuse(fmt::format("{} saves every {} s of work", name, level.interval.si()), "give an interval above 0");
  }
}

}  // namespace

void validate(const JobModel& job) {
  if (job.nodes < 1 || job.gpus_per_node < 1) {
    refuse(fmt::format("{} nodes of {} GPUs", job.nodes, job.gpus_per_node), "a job has at least one of each");
  }
  if (!(job.step_time.si() > 0.0) || !std::isfinite(job.step_time.si())) {
    refuse(fmt::format("a step of {} s", job.step_time.si()), "give a step time above 0");
  }
  if (job.frailty && !(*job.frailty > 0.0)) {
    refuse(fmt::format("frailty {}", *job.frailty), "a Gamma shape is above 0");
  }
  if (!(job.length.si() > 0.0)) {
    refuse(fmt::format("{} s of work in all", job.length.si()), "give a length above 0");
  }
  if (job.checkpoints.keep < 1) {
    refuse(fmt::format("{} saves are kept", job.checkpoints.keep), "keep at least 1");
  }
  require_level(job.checkpoints.storage, "storage");
  if (job.checkpoints.memory) {
    require_level(*job.checkpoints.memory, "memory");
    if (job.checkpoints.memory->interval > job.checkpoints.storage.interval) {
      refuse("memory saves are rarer than storage saves", "make the memory interval the shorter one");
    }
  }
  if (job.checkpoints.unusable_share.value > 0.99) {
    refuse("nearly every save is unusable", "at most 0.99");
  }
  if (job.replicas.count < 1 || job.replicas.nodes_each < 1 || job.spares.nodes < 0) {
    refuse(fmt::format("{} replicas of {} nodes, {} spares", job.replicas.count, job.replicas.nodes_each,
                       job.spares.nodes),
           "at least one replica of one node, no fewer than 0 spares");
  }
  require_hazards(job);
  require_ranges(job);
}

}  // namespace trainyard::simulator
