#include "cli/reliability_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "cli/plan_cluster_report.h"
#include "cli/text/counted.h"
#include "cli/text/table.h"
#include "core/layout/layout_text.h"
#include "core/units/format_quantity.h"

namespace trainyard::cli {

namespace {

using simulator::Reliability;
using simulator::TimeUse;

constexpr double kDay = 86400.0;
constexpr double kHour = 3600.0;
constexpr std::size_t kMostSensitivities = 8;

std::string percent(double share, int digits = 1) { return fmt::format("{:.{}f} %", 100.0 * share, digits); }

std::string count_text(double tokens) {
  return tokens >= 1e12 ? fmt::format("{:.4g} T", tokens / 1e12) : fmt::format("{:.4g} B", tokens / 1e9);
}

std::string time_text(Seconds time) { return std::isfinite(time.si()) ? format_quantity(time) : "never"; }

std::vector<Align> numbers_after_name(std::size_t columns) {
  std::vector<Align> alignment(columns, Align::kRight);
  alignment.front() = Align::kLeft;
  return alignment;
}

void print_heading(const Session& session, const std::string& text) { fmt::print("\n{}\n", session.out.bold(text)); }

double gpus_of(const ReliabilityAnswer& answer) { return static_cast<double>(answer.job.domains().ranks()); }

void print_head(const Session& session, const ReliabilityAnswer& answer) {
  const simulator::JobModel& job = answer.resolved.job;
  const Reliability& found = answer.reliability;
  fmt::print("{} on {}: {}, {}, {} a step\n", session.out.bold(answer.job.plan().model.name), answer.job.machine(),
             counted(answer.job.domains().ranks(), answer.job.on_cpus() ? "rank" : "GPU"), counted(job.nodes, "node"),
             format_quantity(job.step_time));
  fmt::print("{}\n\n", layout_text(answer.job.plan().layout));
  fmt::print("{} {} (90 %: {} to {}), {} tokens a day\n", session.out.bold("goodput"),
             session.out.bold(percent(found.goodput)), percent(answer.range.low), percent(answer.range.high),
             count_text(found.tokens_per_day));
  const std::string definition = simulator::kGoodputDefinition;
  fmt::print("  {}\n", session.out.dim(wrap(definition, session.out.columns() - 2, 2)));
  fmt::print("{} between interruptions (MTTF), {:.2f} stops a day of which {:.2f} planned; failures: {}\n",
             session.out.bold(time_text(found.mttf)), found.stops_per_day,
             found.stops_per_day - (std::isfinite(found.mttf.si()) ? kDay / found.mttf.si() : 0.0),
             answer.options.mean_time_between_failures.empty() ? answer.job.profile().name : "as given");
  if (answer.options.gpu_hour_price) {
    const double a_day = gpus_of(answer) * kDay / kHour * *answer.options.gpu_hour_price;
    fmt::print("{:.4g} a day, of which {:.4g} without use\n", a_day, a_day * (1.0 - found.goodput));
  }
  if (found.no_progress) {
    fmt::print("{}: {}\n", session.out.red("nothing finishes"), *found.no_progress);
  }
}

void print_checkpoint(const Session& session, const ReliabilityAnswer& answer) {
  const simulator::ResolvedJob& resolved = answer.resolved;
  const simulator::Checkpoints& checkpoints = resolved.job.checkpoints;
  print_heading(session, "Checkpoint");
  fmt::print("  {} in all ({:g} B a parameter), at most {} of a rank\n", format_quantity(resolved.size.state),
             resolved.size.bytes_per_parameter, format_quantity(resolved.size.largest_saved));
  fmt::print("  every save blocks for {}, is written after {}, and loads in {}",
             format_quantity(checkpoints.storage.blocking.value), format_quantity(checkpoints.storage.write.value),
             format_quantity(resolved.job.restart.load_storage.value));
  if (resolved.times.load_storage_everyone.value > resolved.job.restart.load_storage.value) {
    fmt::print(" ({} if every rank reads for itself)", format_quantity(resolved.times.load_storage_everyone.value));
  }
  fmt::print("\n  interval {}{}", session.out.bold(format_quantity(checkpoints.storage.interval)),
             answer.interval_given ? " (as given)" : " (best)");
  if (checkpoints.memory) {
    fmt::print(", in memory every {}", format_quantity(checkpoints.memory->interval));
  }
  fmt::print("; best {}, within 0.1 % from {} to {}; Young {}, exact for one level {}\n",
             format_quantity(answer.best.storage), format_quantity(answer.best.flat_from),
             format_quantity(answer.best.flat_to), time_text(answer.best.young), time_text(answer.best.closed_form));
}

void print_waterfall(const Session& session, const ReliabilityAnswer& answer) {
  print_heading(session, "Where the time goes");
  std::vector<std::string> headings = {"", "share", "a day"};
  const bool simulated = answer.simulated && answer.simulated->runs > 0;
  if (simulated) {
    headings.emplace_back("simulated");
  }
  Table table(headings, numbers_after_name(headings.size()));
  for (std::size_t i = 0; i < simulator::kTimeUses; ++i) {
    const auto use = static_cast<TimeUse>(i);
    const double share = answer.reliability.shares[use];
    const double drawn = simulated ? answer.simulated->shares[use] : 0.0;
    if (share < 5e-6 && drawn < 5e-6) {
      continue;
    }
    std::vector<std::string> cells = {std::string(title_of(use)), percent(share, 2),
                                      format_quantity(from_si<Seconds>(share * kDay))};
    if (simulated) {
      cells.push_back(percent(drawn, 2));
    }
    table.add_row(cells);
  }
  fmt::print("{}", table.text(session.out, 2));
  if (simulated) {
    fmt::print(
        "  share: closed form with the inputs' usual values; simulated: mean of runs that draw each input from its "
        "range\n");
  }
}

void print_intervals(const Session& session, const ReliabilityAnswer& answer) {
  print_heading(session, "Goodput by interval between saves");
  Table table({"interval", "goodput"}, {Align::kRight, Align::kRight});
  for (const simulator::IntervalPoint& point : answer.intervals) {
    table.add_row({format_quantity(point.storage), percent(point.goodput)});
  }
  fmt::print("{}", table.text(session.out, 2));
}

void print_scales(const Session& session, const ReliabilityAnswer& answer) {
  if (answer.scales.empty()) {
    return;
  }
  print_heading(session, "By scale (replicas and batch in proportion, each at its best interval)");
  Table table({"ranks", "MTTF", "interval", "goodput"}, {Align::kRight, Align::kRight, Align::kRight, Align::kRight});
  for (const simulator::ScaleAnswer& scale : answer.scales) {
    table.add_row({std::to_string(scale.ranks), time_text(scale.mttf),
                   scale.interval ? format_quantity(*scale.interval) : "-",
                   scale.goodput ? percent(*scale.goodput) : "not with this layout"});
  }
  fmt::print("{}", table.text(session.out, 2));
}

void print_policies(const Session& session, const ReliabilityAnswer& answer) {
  print_heading(session, "By policy, each at its best interval");
  Table table({"policy", "goodput", "interval", ""}, {Align::kLeft, Align::kRight, Align::kRight, Align::kLeft});
  for (const simulator::PolicyAnswer& policy : answer.policies) {
    const bool now = policy.kind == answer.resolved.job.policy.kind;
    if (!policy.why_not.empty()) {
      table.add_row({std::string(to_string(policy.kind)), "-", "-", policy.why_not});
      continue;
    }
    table.add_row({std::string(to_string(policy.kind)), percent(policy.reliability.goodput),
                   format_quantity(policy.best.storage) +
                       (policy.best.memory ? ", memory " + format_quantity(*policy.best.memory) : ""),
                   now ? "this answer's" : ""});
  }
  fmt::print("{}", table.text(session.out, 2));
}

std::string copies_text(const ReliabilityAnswer& answer, const simulator::FailureCost& cost) {
  const simulator::DomainEffect& effect = cost.effect;
  if (effect.domain == simulator::FaultDomain::kProcess) {
    return "all: devices stay";
  }
  const auto share = [](double left) { return left >= 1.0 ? "yes" : left <= 0.0 ? "no" : percent(left, 0); };
  std::string text = "storage";
  if (answer.resolved.copies_on_devices > 1) {
    text += fmt::format("; replicas' devices: {}", share(effect.devices_left));
  }
  if (answer.resolved.job.checkpoints.memory) {
    text += fmt::format("; peers' memory: {}", share(effect.peers_left));
  }
  return text;
}

void print_kinds(const Session& session, const ReliabilityAnswer& answer) {
  print_heading(session, "One failure of each kind");
  std::vector<std::string> headings = {"takes down", "a day",   "nodes",     "stops",    "state left on",
                                       "detect",     "restart", "lost work", "GPU-hours"};
  std::vector<Align> alignment(headings.size(), Align::kRight);
  alignment[0] = alignment[4] = Align::kLeft;
  const bool priced = answer.options.gpu_hour_price.has_value();
  if (priced) {
    headings.emplace_back("cost");
    alignment.push_back(Align::kRight);
  }
  Table table(headings, alignment);
  for (const simulator::FailureCost& cost : answer.costs) {
    std::string name(to_string(cost.effect.domain));
    std::ranges::replace(name, '_', ' ');
    std::vector<std::string> cells = {name,
                                      fmt::format("{:.3g}", cost.effect.rate.si() * kDay),
                                      fmt::format("{:.3g}", cost.effect.nodes),
                                      cost.drops_replica >= 1.0 ? "a replica" : "all ranks",
                                      copies_text(answer, cost),
                                      format_quantity(cost.detection),
                                      format_quantity(cost.restart),
                                      format_quantity(cost.lost_work),
                                      fmt::format("{:.3g}", cost.gpu_hours)};
    if (priced) {
      cells.push_back(fmt::format("{:.0f}", cost.gpu_hours * *answer.options.gpu_hour_price));
    }
    table.add_row(cells);
  }
  fmt::print("{}", table.text(session.out, 2));
}

void print_advice(const Session& session, const ReliabilityAnswer& answer) {
  print_heading(session, "To choose");
  const simulator::Timeouts& timeouts = answer.timeouts;
  fmt::print("  timeouts   heartbeat {}, hang {}, joining {}; each longer than the one before\n",
             format_quantity(timeouts.heartbeat), format_quantity(timeouts.hang), format_quantity(timeouts.join));
  if (!answer.job.on_cpus()) {
    const auto& down = answer.reliability.nodes_down;
    fmt::print("  spares     {} of {} nodes; for 99 % of the time {}, {} down on average\n",
               answer.resolved.job.spares.nodes, answer.resolved.job.nodes,
               answer.reliability.nodes_down_p99 ? std::to_string(*answer.reliability.nodes_down_p99) : "none suffice",
               down ? fmt::format("{:.1f}", *down) : "more and more");
  }
  if (answer.advised != nullptr && answer.resolved.job.corruption.compute_errors.value > PerSecond()) {
    fmt::print("  detectors  {}\n", answer.advised->name);
  }
  fmt::print("  goodput    {} with all of these\n", percent(answer.goodput_advised));
}

void print_corruption(const Session& session, const ReliabilityAnswer& answer) {
  const simulator::CorruptionRates& total = answer.reliability.corruption.total;
  if (!(total.events > 0.0)) {
    return;
  }
  const double time = answer.horizon.si();
  print_heading(session, fmt::format("Silent corruption in {}", format_quantity(answer.horizon)));
  fmt::print("  {:.3g} events: {:.3g} without effect, {:.3g} stop the job, {:.3g} found, {} in the model undetected\n",
             total.events * time, total.masked * time, total.crash * time, total.found * time,
             session.out.bold(fmt::format("{:.3g}", total.undetected * time)));
  const double defective = gpus_of(answer) * answer.job.profile().corruption.defective_devices.value;
  fmt::print("  {:.3g} of the GPUs are expected to compute wrongly now and then\n", defective);
  Table table({"detectors", "undetected in 30 d", "found", "overhead", "goodput"}, numbers_after_name(5));
  const auto row = [&](const simulator::DetectorAnswer& detector) {
    table.add_row({detector.name, fmt::format("{:.3g}", detector.undetected_per_month),
                   fmt::format("{:.3g}", detector.found_per_month), percent(detector.overhead, 2),
                   percent(detector.goodput, 2)});
  };
  std::ranges::for_each(answer.detectors, row);
  row(answer.checksum_hardware);
  fmt::print("{}", table.text(session.out, 2));
}

std::string spread_text(const simulator::Percentiles& spread, double scale, const char* format) {
  const auto text = [&](double value) { return fmt::format(fmt::runtime(format), value * scale); };
  return fmt::format("{} / {} / {}", text(spread.p10), text(spread.p50), text(spread.p90));
}

void print_simulated(const Session& session, const ReliabilityAnswer& answer) {
  if (!answer.simulated) {
    return;
  }
  const simulator::SimulationResult& simulated = *answer.simulated;
  print_heading(session, fmt::format("{} simulated (seed {}), P10 / P50 / P90", counted(simulated.runs, "run"),
                                     answer.options.seed));
  if (simulated.runs == 0 && simulated.reason) {
    fmt::print("  {}\n", *simulated.reason);
    return;
  }
  fmt::print("  goodput        {} %; 90 % of runs {} to {}\n", spread_text(simulated.goodput, 100.0, "{:.1f}"),
             percent(simulated.goodput.p5), percent(simulated.goodput.p95));
  if (simulated.days) {
    const auto time = [](double days) { return format_quantity(from_si<Seconds>(days * kDay)); };
    fmt::print("  time           {} / {} / {} to {} tokens\n", time(simulated.days->p10), time(simulated.days->p50),
               time(simulated.days->p90), count_text(*answer.tokens));
    if (answer.options.gpu_hour_price) {
      const double per_day = gpus_of(answer) * kDay / kHour * *answer.options.gpu_hour_price;
      fmt::print("  cost           {}\n", spread_text(*simulated.days, per_day, "{:.4g}"));
    }
  }
  fmt::print("  failures       {}\n", spread_text(simulated.failures, 1.0, "{:.0f}"));
  fmt::print("  nodes down     {} at the most\n", spread_text(simulated.nodes_down_peak, 1.0, "{:.0f}"));
  if (simulated.unfinished > 0) {
    fmt::print("  {} gave up: {}\n", counted(simulated.unfinished, "run"), simulated.reason.value_or(""));
  }
}

void print_replayed(const Session& session, const ReliabilityAnswer& answer) {
  if (!answer.replayed) {
    return;
  }
  const simulator::TraceStatistics& fleet = answer.replayed->fleet;
  print_heading(session, "Replay of " + answer.options.replay);
  fmt::print("  fleet   {} incidents of {} nodes in {:.1f} days: {:.2f} per 1000 node-days, {} of the time down\n",
             fleet.incidents, fleet.nodes, fleet.days, fleet.per_1000_node_days, percent(fleet.unavailability, 2));
  if (fleet.repeated > 0) {
    fmt::print("          without {} that {} another's node and times\n", counted(fleet.repeated, "line"),
               fleet.repeated == 1 ? "repeats" : "repeat");
  }
  fmt::print(
      "          nodes down at once: {:.1f} on average, {} for half the time, {} for 90 %, {} for 99 %; repair {}\n",
      fleet.down_mean, fleet.down_p50, fleet.down_p90, fleet.down_p99,
      format_quantity(from_si<Seconds>(fleet.repair_median)));
  fmt::print("  job     goodput {}; {} of the incidents hit it, {} during a recovery\n",
             session.out.bold(percent(answer.replayed->job.goodput)), answer.replayed->job.failures,
             answer.replayed->job.in_recovery);
}

void print_sensitivities(const Session& session, const ReliabilityAnswer& answer) {
  if (answer.sensitivities.empty()) {
    return;
  }
  print_heading(session, "Assumptions that matter most (each over its published range)");
  Table table({"", "goodput at low", "at high"}, numbers_after_name(3));
  for (std::size_t i = 0; i < std::min(kMostSensitivities, answer.sensitivities.size()); ++i) {
    const simulator::Sensitivity& entry = answer.sensitivities[i];
    table.add_row({entry.input, percent(entry.goodput_at_low), percent(entry.goodput_at_high)});
  }
  fmt::print("{}", table.text(session.out, 2));
}

void print_notes(const Session& session, const ReliabilityAnswer& answer) {
  fmt::print("\n");
  for (const std::vector<std::string>* notes :
       {&answer.job.notes(), &answer.resolved.notes, &answer.reliability.notes, &answer.job.profile().notes}) {
    for (const std::string& note : *notes) {
      fmt::print("Note: {}\n", wrap(note, session.out.columns() - 6, 6));
    }
  }
  std::string limits = "Not in the model:";
  for (const std::string& limit : reliability_limits()) {
    limits += (limits.back() == ':' ? " " : "; ") + limit;
  }
  fmt::print("{}\n", session.out.dim(wrap(limits, session.out.columns(), 0)));
}

}  // namespace

std::vector<std::string> reliability_limits() {
  return {"what a corruption that stays in the model costs in quality",
          "whole-fleet outages, and changes of the rates over the months (a burn-in, a hot summer)",
          "racks and power feeds as they are wired: the graph doesn't show them",
          "step times at other scales: the batch grows with the replicas, and the step stays",
          "network congestion by checkpoints that share links with training"};
}

void print_reliability(const Session& session, const ReliabilityAnswer& answer) {
  print_head(session, answer);
  print_checkpoint(session, answer);
  print_waterfall(session, answer);
  print_intervals(session, answer);
  print_scales(session, answer);
  print_policies(session, answer);
  print_kinds(session, answer);
  print_advice(session, answer);
  print_corruption(session, answer);
  print_simulated(session, answer);
  print_replayed(session, answer);
  print_sensitivities(session, answer);
  print_notes(session, answer);
}

}  // namespace trainyard::cli
