#include "cli/plan_studies.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "cli/chart/line_chart.h"
#include "cli/exit_code.h"
#include "cli/json/output.h"
#include "cli/long_answer.h"
#include "cli/plan_cluster_report.h"
#include "cli/text/table.h"
#include "core/document/write_file.h"
#include "core/error.h"
#include "core/layout/layout_text.h"
#include "core/units/format_quantity.h"
#include "simulator/planner/maximize.h"
#include "simulator/planner/scaling_sweep.h"
#include "simulator/planner/sensitivity.h"

namespace trainyard::cli {

namespace {

using nlohmann::ordered_json;

std::string change_text(double factor) { return fmt::format("{:+.1f} %", 100.0 * (factor - 1.0)); }

ordered_json sensitivity_json(const std::vector<simulator::MachineSensitivity>& entries, const Study& study) {
  ordered_json array = ordered_json::array();
  for (const simulator::MachineSensitivity& entry : entries) {
    array.push_back({{"what", entry.what},
                     {"feasible", entry.feasible},
                     {"throughput", entry.speedup},
                     {"throughput_of_todays_layout", entry.same_layout},
                     {"changes_layout", entry.changes_layout},
                     {"best", entry.feasible ? to_json(entry.best, study.request.space.workload) : ordered_json()}});
  }
  return array;
}

void write_chart(const Study& study, const std::vector<simulator::SweepPoint>& points) {
  LineChart chart;
  chart.title = study.request.space.workload.model.name + " on " + study.request.machine.accelerator.name;
  chart.subtitle = study.options.strong ? "strong scaling: the batch stays" : "weak scaling: the batch grows";
  chart.x_label = "ranks";
  chart.y_label = "tokens/s";
  ChartSeries found{"best layout", {}};
  ChartSeries linear{"linear", {}};
  double each = 0.0;
  for (const simulator::SweepPoint& point : points) {
    if (!point.feasible) {
      continue;
    }
    const auto ranks = static_cast<double>(point.ranks);
    const double spread = point.best.step.step_time / point.best.step.low;
    found.points.push_back(
        {ranks, point.tokens_per_second, point.tokens_per_second / spread, point.tokens_per_second * spread});
    each = each > 0.0 ? each : point.tokens_per_second / ranks;
    linear.points.push_back({ranks, each * ranks, each * ranks, each * ranks});
  }
  chart.series = {std::move(found), std::move(linear)};
  write_file(study.options.svg, to_svg(chart));
}

Table sweep_table(const std::vector<simulator::SweepPoint>& points) {
  Table table({"ranks", "batch", "step", "tokens/s", "per rank", "efficiency", "MFU", "layout"},
              {Align::kRight, Align::kRight, Align::kRight, Align::kRight, Align::kRight, Align::kRight, Align::kRight,
               Align::kLeft});
  for (const simulator::SweepPoint& point : points) {
    if (!point.feasible) {
      const std::string why = point.nearest_miss ? point.nearest_miss->detail : "no layout of these ranks";
      table.add_row({std::to_string(point.ranks), std::to_string(point.global_batch), "", "", "", "", "", why});
      continue;
    }
    table.add_row({std::to_string(point.ranks), std::to_string(point.global_batch),
                   format_quantity(point.best.step.step_time), tokens_text(point.tokens_per_second),
                   fmt::format("{:.0f}", point.tokens_per_second / static_cast<double>(point.ranks)),
                   fmt::format("{:.1f} %", 100.0 * point.efficiency),
                   fmt::format("{:.1f} %", 100.0 * mfu(point.best.step)), layout_text(point.best.layout)});
  }
  return table;
}

ordered_json sweep_json(const std::vector<simulator::SweepPoint>& points, const Study& study) {
  ordered_json array = ordered_json::array();
  for (const simulator::SweepPoint& point : points) {
    simulator::Workload workload = study.request.space.workload;
    workload.global_batch = point.global_batch;
    array.push_back({{"ranks", point.ranks},
                     {"global_batch", point.global_batch},
                     {"feasible", point.feasible},
                     {"tokens_per_second", point.tokens_per_second},
                     {"efficiency", point.efficiency},
                     {"best", point.feasible ? to_json(point.best, workload) : ordered_json()},
                     {"why_not", point.nearest_miss && !point.feasible ? ordered_json(point.nearest_miss->detail)
                                                                       : ordered_json()}});
  }
  return array;
}

simulator::Maximized maximized(const std::string& name) {
  for (const auto what :
       {simulator::Maximized::kBatch, simulator::Maximized::kParameters, simulator::Maximized::kContext}) {
    if (name == to_string(what)) {
      return what;
    }
  }
  throw Error("'" + name + "' can't be maximized", "--maximize", "batch, parameters or context");
}

std::string value_text(simulator::Maximized what, std::int64_t value) {
  switch (what) {
    case simulator::Maximized::kBatch:
      return fmt::format("{} sequences at once", value);
    case simulator::Maximized::kParameters:
      return fmt::format("{:.4g} B parameters", static_cast<double>(value) / 1e9);
    case simulator::Maximized::kContext:
      return fmt::format("{} tokens of context", value);
  }
  return "?";
}

ordered_json curve_json(const simulator::RecomputeCurve& curve) {
  ordered_json points = ordered_json::array();
  for (const simulator::RecomputePoint& point : curve.points) {
    points.push_back(
        {{"batch", point.batch},
         {"tokens_per_second_without", point.without ? ordered_json(point.tokens_without) : ordered_json()},
         {"tokens_per_second_with", point.with ? ordered_json(point.tokens_with) : ordered_json()}});
  }
  return {{"points", points}, {"pays_up_to", curve.pays_up_to ? ordered_json(*curve.pays_up_to) : ordered_json()}};
}

void print_curve(const Session& session, const simulator::RecomputeCurve& curve) {
  Table table({"batch", "tokens/s without recomputation", "with", "layout"},
              {Align::kRight, Align::kRight, Align::kRight, Align::kLeft});
  for (const simulator::RecomputePoint& point : curve.points) {
    const bool recomputes = point.tokens_with > point.tokens_without;
    const auto& better = recomputes ? point.with : point.without;
    table.add_row({std::to_string(point.batch), point.without ? tokens_text(point.tokens_without) : "doesn't fit",
                   point.with ? tokens_text(point.tokens_with) : "doesn't fit", layout_text(better->layout)});
  }
  fmt::print("\nbatches without accumulation, and what recomputation makes of them\n{}", table.text(session.out));
  fmt::print("{}\n", curve.pays_up_to
                         ? fmt::format("Recomputing for a bigger batch pays up to {} sequences.", *curve.pays_up_to)
                         : "Recomputing for a bigger batch never pays: a smaller one without it is faster.");
}

}  // namespace

int print_sensitivity(const Study& study, const simulator::RankedLayout& today) {
  std::optional<LongAnswer> answer(std::in_place, study.session);
  answer->show("searching again on other machines");
  const auto entries =
      sensitivities(study.request, today, simulator::usual_changes(study.request.machine), study.pricers);
  answer.reset();
  if (study.session.json) {
    print_json(
        {{"today", to_json(today, study.request.space.workload)}, {"sensitivity", sensitivity_json(entries, study)}});
    return kOk;
  }
  Table table({"what if", "throughput", "with today's layout", "best layout then"},
              {Align::kLeft, Align::kRight, Align::kRight, Align::kLeft});
  for (const simulator::MachineSensitivity& entry : entries) {
    table.add_row({entry.what, entry.feasible ? change_text(entry.speedup) : "nothing fits",
                   change_text(entry.same_layout), entry.changes_layout ? layout_text(entry.best.layout) : "the same"});
  }
  fmt::print("today: {}, {} a step\n\n{}", study.session.out.bold(layout_text(today.layout)),
             format_quantity(today.step.step_time), table.text(study.session.out));
  return kOk;
}

int print_sweep(const Study& study) {
  std::optional<LongAnswer> answer(std::in_place, study.session);
  answer->show("searching at each number of ranks");
  const auto points =
      scaling_sweep(study.request, study.options.sweep,
                    study.options.strong ? simulator::Scaling::kStrong : simulator::Scaling::kWeak, study.pricers);
  answer->commit([&] {
    save_stack(study.options.software, study.request.machine.stack);
    if (!study.options.svg.empty()) {
      write_chart(study, points);
    }
  });
  answer.reset();
  if (study.session.json) {
    print_json({{"scaling", study.options.strong ? "strong" : "weak"}, {"points", sweep_json(points, study)}});
  } else {
    fmt::print("{}{}", sweep_table(points).text(study.session.out),
               study.options.svg.empty() ? "" : "\nchart: " + study.options.svg + "\n");
  }
  return kOk;
}

int print_maximum(const Study& study) {
  const simulator::Maximized what = maximized(study.options.maximize);
  std::optional<LongAnswer> answer(std::in_place, study.session);
  answer->show("searching for the largest that fits");
  const auto maximum = maximize(study.request, what, study.pricers);
  if (!maximum) {
    throw Error("not even the smallest fits", "--maximize " + study.options.maximize,
                "more ranks, or --offload, or fewer flags that narrow the layouts");
  }
  std::optional<simulator::RecomputeCurve> curve;
  if (what == simulator::Maximized::kBatch) {
    curve = recompute_curve(study.request, maximum->value, study.pricers);
  }
  answer->commit([&] { save_stack(study.options.software, study.request.machine.stack); });
  answer.reset();
  if (study.session.json) {
    ordered_json object = {
        {"maximize", to_string(what)},
        {"value", maximum->value},
        {"best", to_json(maximum->best, maximum->workload)},
        {"next", maximum->next},
        {"next_lacks", maximum->next_lacks ? ordered_json(maximum->next_lacks->detail) : ordered_json()},
        {"model",
         {{"layers", maximum->workload.model.layers},
          {"hidden", maximum->workload.model.hidden},
          {"feed_forward", maximum->workload.model.feed_forward},
          {"heads", maximum->workload.model.heads}}},
        {"recompute", curve ? curve_json(*curve) : ordered_json()}};
    print_json(object);
    return kOk;
  }
  fmt::print("largest: {}\n  {}: {} a step, {} tokens/s, MFU {:.1f} %, {} a rank\n",
             study.session.out.bold(value_text(what, maximum->value)), layout_text(maximum->best.layout),
             format_quantity(maximum->best.step.step_time), tokens_text(maximum->tokens_per_second),
             100.0 * mfu(maximum->best.step), format_quantity(maximum->best.memory.total));
  if (what == simulator::Maximized::kParameters) {
    const ModelSpec& model = maximum->workload.model;
    fmt::print("  {} layers, hidden {}, feed-forward {}, {} heads\n", model.layers, model.hidden, model.feed_forward,
               model.heads);
  }
  fmt::print("one step more, {}, fits under no layout: {}\n", value_text(what, maximum->next),
             maximum->next_lacks ? maximum->next_lacks->detail : "no layout of these ranks");
  if (curve) {
    print_curve(study.session, *curve);
  }
  return kOk;
}

}  // namespace trainyard::cli
