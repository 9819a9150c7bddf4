#include <nlohmann/json.hpp>

#include "cli/plan_cluster_report.h"
#include "cli/reliability_report.h"
#include "core/layout/layout_text.h"

namespace trainyard::cli {

namespace {

using nlohmann::ordered_json;

constexpr double kDay = 86400.0;

template <class T>
ordered_json range_json(const simulator::Ranged<T>& range) {
  return {{"value", range.value.si()}, {"low", range.low.si()}, {"high", range.high.si()}};
}

ordered_json shares_json(const simulator::TimeUses& uses) {
  ordered_json object = ordered_json::object();
  for (std::size_t i = 0; i < simulator::kTimeUses; ++i) {
    const auto use = static_cast<simulator::TimeUse>(i);
    object[std::string(to_string(use))] = uses[use];
  }
  return object;
}

ordered_json percentiles_json(const simulator::Percentiles& spread) {
  return {{"p5", spread.p5},
          {"p10", spread.p10},
          {"p50", spread.p50},
          {"p90", spread.p90},
          {"p95", spread.p95},
          {"mean", spread.mean},
          {"standard_error", spread.standard_error}};
}

ordered_json checkpoint_json(const ReliabilityAnswer& answer) {
  const simulator::ResolvedJob& resolved = answer.resolved;
  const simulator::Checkpoints& checkpoints = resolved.job.checkpoints;
  ordered_json object = {{"state_bytes", resolved.size.state.si()},
                         {"bytes_per_parameter", resolved.size.bytes_per_parameter},
                         {"largest_rank_saves_bytes", resolved.size.largest_saved.si()},
                         {"largest_rank_holds_bytes", resolved.size.largest_held.si()},
                         {"copies_on_devices", resolved.copies_on_devices},
                         {"blocking_s", range_json(checkpoints.storage.blocking)},
                         {"write_s", range_json(checkpoints.storage.write)},
                         {"load_s", range_json(resolved.job.restart.load_storage)},
                         {"load_everyone_s", range_json(resolved.times.load_storage_everyone)},
                         {"load_memory_s", range_json(resolved.times.load_memory)},
                         {"interval_s", checkpoints.storage.interval.si()},
                         {"interval_given", answer.interval_given},
                         {"memory_interval_s", nullptr}};
  if (checkpoints.memory) {
    object["memory_interval_s"] = checkpoints.memory->interval.si();
  }
  return object;
}

ordered_json best_json(const simulator::BestInterval& best) {
  return {{"storage_s", best.storage.si()},
          {"memory_s", best.memory ? ordered_json(best.memory->si()) : ordered_json()},
          {"goodput", best.goodput},
          {"young_s", best.young.si()},
          {"exact_one_level_s", best.closed_form.si()},
          {"floor_s", best.floor.si()},
          {"within_0.1_percent_s", {best.flat_from.si(), best.flat_to.si()}}};
}

ordered_json kinds_json(const ReliabilityAnswer& answer) {
  ordered_json array = ordered_json::array();
  for (const simulator::FailureCost& cost : answer.costs) {
    ordered_json object = {{"takes_down", to_string(cost.effect.domain)},
                           {"classes", cost.effect.classes},
                           {"per_day", cost.effect.rate.si() * kDay},
                           {"nodes", cost.effect.nodes},
                           {"ranks", cost.ranks_lost},
                           {"stops", cost.drops_replica >= 1.0 ? "replica" : "all"},
                           {"state_left_on_devices", cost.effect.devices_left},
                           {"state_left_in_peers_memory", cost.effect.peers_left},
                           {"recovered_from_memory", cost.from_memory},
                           {"detection_s", cost.detection.si()},
                           {"restart_s", cost.restart.si()},
                           {"lost_work_s", cost.lost_work.si()},
                           {"gpu_hours", cost.gpu_hours},
                           {"cost", nullptr}};
    if (answer.options.gpu_hour_price) {
      object["cost"] = cost.gpu_hours * *answer.options.gpu_hour_price;
    }
    array.push_back(std::move(object));
  }
  return array;
}

ordered_json detector_json(const simulator::DetectorAnswer& detector) {
  return {{"name", detector.name},
          {"goodput", detector.goodput},
          {"overhead", detector.overhead},
          {"found_per_30_d", detector.found_per_month},
          {"undetected_per_30_d", detector.undetected_per_month}};
}

ordered_json corruption_json(const ReliabilityAnswer& answer) {
  const simulator::CorruptionRates& total = answer.reliability.corruption.total;
  const double time = answer.horizon.si();
  ordered_json detectors = ordered_json::array();
  for (const simulator::DetectorAnswer& detector : answer.detectors) {
    detectors.push_back(detector_json(detector));
  }
  return {{"time_s", time},
          {"events", total.events * time},
          {"masked", total.masked * time},
          {"corrected", total.corrected * time},
          {"crash", total.crash * time},
          {"found", total.found * time},
          {"undetected", total.undetected * time},
          {"detectors", detectors},
          {"checksum_hardware", detector_json(answer.checksum_hardware)}};
}

ordered_json advice_json(const ReliabilityAnswer& answer) {
  ordered_json detectors = ordered_json::array();
  if (answer.advised != nullptr) {
    for (const DetectorKind kind : answer.advised->kinds) {
      detectors.push_back(to_string(kind));
    }
  }
  return {{"interval_s", answer.best.storage.si()},
          {"spares_p99",
           answer.reliability.nodes_down_p99 ? ordered_json(*answer.reliability.nodes_down_p99) : ordered_json()},
          {"heartbeat_timeout_s", answer.timeouts.heartbeat.si()},
          {"hang_timeout_s", answer.timeouts.hang.si()},
          {"join_timeout_s", answer.timeouts.join.si()},
          {"detectors", detectors},
          {"goodput", answer.goodput_advised}};
}

ordered_json policies_json(const ReliabilityAnswer& answer) {
  ordered_json array = ordered_json::array();
  for (const simulator::PolicyAnswer& policy : answer.policies) {
    const bool possible = policy.why_not.empty();
    array.push_back({{"policy", to_string(policy.kind)},
                     {"goodput", possible ? ordered_json(policy.reliability.goodput) : ordered_json()},
                     {"interval_s", possible ? ordered_json(policy.best.storage.si()) : ordered_json()},
                     {"memory_interval_s",
                      possible && policy.best.memory ? ordered_json(policy.best.memory->si()) : ordered_json()},
                     {"why_not", possible ? ordered_json() : ordered_json(policy.why_not)}});
  }
  return array;
}

ordered_json simulated_json(const ReliabilityAnswer& answer) {
  if (!answer.simulated) {
    return nullptr;
  }
  const simulator::SimulationResult& simulated = *answer.simulated;
  ordered_json object = {{"runs", simulated.runs},
                         {"seed", answer.options.seed},
                         {"unfinished", simulated.unfinished},
                         {"reason", simulated.reason ? ordered_json(*simulated.reason) : ordered_json()},
                         {"goodput", percentiles_json(simulated.goodput)},
                         {"days", simulated.days ? percentiles_json(*simulated.days) : ordered_json()},
                         {"cost", nullptr},
                         {"shares", shares_json(simulated.shares)},
                         {"failures", percentiles_json(simulated.failures)},
                         {"node_losses", percentiles_json(simulated.node_losses)},
                         {"nodes_down_peak", percentiles_json(simulated.nodes_down_peak)},
                         {"corruptions_found", percentiles_json(simulated.corruptions_found)},
                         {"corruptions_missed", percentiles_json(simulated.corruptions_missed)}};
  if (simulated.days && answer.options.gpu_hour_price) {
    const double per_day = static_cast<double>(answer.job.domains().ranks()) * 24.0 * *answer.options.gpu_hour_price;
    object["cost"] = {{"p10", simulated.days->p10 * per_day},
                      {"p50", simulated.days->p50 * per_day},
                      {"p90", simulated.days->p90 * per_day}};
  }
  return object;
}

ordered_json replayed_json(const ReliabilityAnswer& answer) {
  if (!answer.replayed) {
    return nullptr;
  }
  const simulator::TraceStatistics& fleet = answer.replayed->fleet;
  return {{"incidents", fleet.incidents},
          {"repeated_lines", fleet.repeated},
          {"fleet_nodes", fleet.nodes},
          {"days", fleet.days},
          {"per_1000_node_days", fleet.per_1000_node_days},
          {"unavailability", fleet.unavailability},
          {"nodes_down",
           {{"mean", fleet.down_mean}, {"p50", fleet.down_p50}, {"p90", fleet.down_p90}, {"p99", fleet.down_p99}}},
          {"frailty_shape", fleet.frailty_shape ? ordered_json(*fleet.frailty_shape) : ordered_json()},
          {"repair_median_s", fleet.repair_median},
          {"repair_mean_s", fleet.repair_mean},
          {"refault_share", fleet.refault_share},
          {"goodput", answer.replayed->job.goodput},
          {"failures", answer.replayed->job.failures},
          {"shares", shares_json(answer.replayed->job.shares)}};
}

ordered_json hazards_json(const ReliabilityAnswer& answer) {
  ordered_json array = ordered_json::array();
  for (const simulator::HazardShare& hazard : answer.reliability.hazards) {
    array.push_back({{"name", hazard.name}, {"per_day", hazard.per_day}, {"time_share", hazard.time_share}});
  }
  return array;
}

ordered_json scales_json(const ReliabilityAnswer& answer) {
  ordered_json array = ordered_json::array();
  for (const simulator::ScaleAnswer& scale : answer.scales) {
    array.push_back({{"ranks", scale.ranks},
                     {"mttf_s", scale.mttf.si()},
                     {"interval_s", scale.interval ? ordered_json(scale.interval->si()) : ordered_json()},
                     {"goodput", scale.goodput ? ordered_json(*scale.goodput) : ordered_json()}});
  }
  return array;
}

std::vector<std::string> notes_of(const ReliabilityAnswer& answer) {
  std::vector<std::string> all = answer.job.notes();
  for (const std::vector<std::string>* notes :
       {&answer.resolved.notes, &answer.reliability.notes, &answer.job.profile().notes}) {
    all.insert(all.end(), notes->begin(), notes->end());
  }
  return all;
}

}  // namespace

ordered_json to_json(const ReliabilityAnswer& answer) {
  const simulator::JobModel& job = answer.resolved.job;
  const simulator::Reliability& found = answer.reliability;
  ordered_json object;
  object["model"] = answer.job.plan().model.name;
  object["machine"] = answer.job.machine();
  object["layout"] = layout_text(answer.job.plan().layout);
  object["ranks"] = answer.job.domains().ranks();
  object["nodes"] = job.nodes;
  object["failures"] = answer.job.profile().name;
  object["policy"] = to_string(job.policy.kind);
  object["step_time_s"] = job.step_time.si();
  object["mttf_s"] = found.mttf.si();
  object["stops_per_day"] = found.stops_per_day;
  object["definition"] = simulator::kGoodputDefinition;
  object["goodput"] = found.goodput;
  object["goodput_90"] = {answer.range.low, answer.range.high};
  object["tokens_per_day"] = found.tokens_per_day;
  object["no_progress"] = found.no_progress ? ordered_json(*found.no_progress) : ordered_json();
  object["shares"] = shares_json(found.shares);
  object["hazards"] = hazards_json(answer);
  object["checkpoint"] = checkpoint_json(answer);
  object["best_interval"] = best_json(answer.best);
  object["intervals"] = ordered_json::array();
  for (const simulator::IntervalPoint& point : answer.intervals) {
    object["intervals"].push_back({{"interval_s", point.storage.si()}, {"goodput", point.goodput}});
  }
  object["scales"] = scales_json(answer);
  object["policies"] = policies_json(answer);
  object["kinds"] = kinds_json(answer);
  object["spares"] = job.spares.nodes;
  object["nodes_down"] = found.nodes_down ? ordered_json(*found.nodes_down) : ordered_json();
  object["corruption"] = corruption_json(answer);
  object["advice"] = advice_json(answer);
  object["tokens"] = answer.tokens ? ordered_json(*answer.tokens) : ordered_json();
  object["simulated"] = simulated_json(answer);
  object["replay"] = replayed_json(answer);
  object["sensitivities"] = ordered_json::array();
  for (const simulator::Sensitivity& entry : answer.sensitivities) {
    object["sensitivities"].push_back({{"input", entry.input},
                                       {"low", entry.low},
                                       {"high", entry.high},
                                       {"goodput_at_low", entry.goodput_at_low},
                                       {"goodput_at_high", entry.goodput_at_high}});
  }
  object["notes"] = notes_of(answer);
  object["limits"] = reliability_limits();
  return object;
}

}  // namespace trainyard::cli
