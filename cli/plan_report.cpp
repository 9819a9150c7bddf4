#include "cli/plan_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "cli/json/output.h"
#include "cli/text/counted.h"
#include "cli/text/table.h"
#include "core/layout/layout.h"
#include "core/layout/layout_legend.h"
#include "core/model/parameter.h"
#include "core/program/storage_type.h"
#include "core/units/format_quantity.h"

namespace trainyard::cli {

namespace {

using nlohmann::ordered_json;
using simulator::Estimate;

std::string priced_by(const Estimate& estimate) {
  return estimate.method == simulator::EstimateMethod::kInstructions ? "program" : "formula";
}

std::size_t shown(const PlanReport& report) { return std::min(report.top, report.result.ranked.size()); }

// Element types are the same for all rows: said once, above the table.
std::string degrees_text(Layout layout) {
  const Layout plain;
  layout.compute_type = plain.compute_type;
  layout.parameter_type = plain.parameter_type;
  layout.gradient_type = plain.gradient_type;
  layout.optimizer_type = plain.optimizer_type;
  layout.communication_type = plain.communication_type;
  return describe(layout);
}

std::string types_text(const Layout& layout) {
  if (layout.compute_type == layout.gradient_type) {
    return fmt::format("all in {}", to_string(layout.compute_type));
  }
  const DataType stored = storage_type(layout.compute_type);
  const bool layers_alone = wide_type(layout.compute_type) != layout.compute_type;
  const std::string products =
      stored == layout.compute_type
          ? ""
          : fmt::format("products {}in {}, ", layers_alone ? "of layers " : "", to_string(layout.compute_type));
  return fmt::format("{}weights and activations in {}, gradients and optimizer in {}", products, to_string(stored),
                     to_string(layout.gradient_type));
}

std::string percent(double share) { return fmt::format("{:.1f} %", 100.0 * share); }

std::string parameters_text(std::int64_t count) {
  const auto value = static_cast<double>(count);
  return value < 1e9 ? fmt::format("{:.3g} M", value / 1e6) : fmt::format("{:.4g} B", value / 1e9);
}

std::string tokens_text(double per_second) {
  return per_second < 1e6 ? fmt::format("{:.0f}", per_second) : fmt::format("{:.2f} M", per_second / 1e6);
}

// Layouts last: they may be long, and a terminal that wraps them leaves the numbers in their columns.
Table layouts_table(const PlanReport& report) {
  Table table({"", "step", "tokens/s", "memory/rank", "MFU", "priced by", "runs here", "layout"},
              {Align::kRight, Align::kRight, Align::kRight, Align::kRight, Align::kRight, Align::kLeft, Align::kLeft,
               Align::kLeft});
  for (std::size_t i = 0; i < shown(report); ++i) {
    const Estimate& estimate = report.result.ranked[i];
    const bool runs = !why_not(report.executor, report.request.model, estimate.layout);
    table.add_row({std::to_string(i + 1), format_quantity(estimate.step_time), tokens_text(estimate.tokens_per_second),
                   format_quantity(estimate.memory_peak), percent(estimate.mfu), priced_by(estimate),
                   runs ? "yes" : "no", degrees_text(estimate.layout)});
  }
  return table;
}

void print_legend(const PlanReport& report, int columns) {
  std::vector<std::string> layouts;
  for (std::size_t i = 0; i < shown(report); ++i) {
    layouts.push_back(degrees_text(report.result.ranked[i].layout));
  }
  if (!layouts.empty()) {
    fmt::print("\n{}\n", wrap(layout_legend(layouts), columns, 0));
    fmt::print("{}\n", wrap("priced by program: the best few by formula, their instructions simulated one by one; "
                            "by formula: in closed form",
                            columns, 0));
  }
  const Estimate& best = report.result.ranked[report.picked];
  if (const auto obstacle = why_not(report.executor, report.request.model, best.layout)) {
    fmt::print("{}\n", wrap("runs here no: " + obstacle->detail, columns, 0));
  }
}

const char* ruled_out_text(InfeasibleReason reason) {
  switch (reason) {
    case InfeasibleReason::kDivision:
      return "don't divide";
    case InfeasibleReason::kMemory:
      return "need too much memory";
    case InfeasibleReason::kUnsupported:
      return "can't run here";
  }
  return "?";
}

Table parts_table(const PlanReport& report) {
  Table table({"", "compute", "tensor-parallel", "pipeline", "gradients", "update"},
              {Align::kRight, Align::kRight, Align::kRight, Align::kRight, Align::kRight, Align::kRight});
  for (std::size_t i = 0; i < shown(report); ++i) {
    const simulator::StepParts& parts = report.result.ranked[i].parts;
    table.add_row({std::to_string(i + 1), format_quantity(parts.compute), format_quantity(parts.tensor_exposed),
                   format_quantity(parts.pipeline), format_quantity(parts.gradient_exposed),
                   format_quantity(parts.update)});
  }
  return table;
}

void add_source(Table& table, const char* name, const std::string& value, const std::string& source) {
  table.add_row({name, value, source});
}

Table sources_table(const AnalyticProfile& analytic, DataType type) {
  Table table({"constant", "value", "source"}, {Align::kLeft, Align::kRight, Align::kLeft});
  const Accelerator& device = analytic.accelerator;
  const KernelEfficiency& efficiency = device.efficiency;
  for (const auto& [peak_type, peak] : device.dense_peak) {
    if (peak_type == type) {
      add_source(table, "dense peak", format_quantity(peak.value), peak.source);
    }
  }
  add_source(table, "memory", format_quantity(device.memory.value), device.memory.source);
  add_source(table, "memory bandwidth", format_quantity(device.memory_bandwidth.value), device.memory_bandwidth.source);
  add_source(table, "in-node bandwidth", format_quantity(device.intra_node_bandwidth.value),
             device.intra_node_bandwidth.source);
  add_source(table, "NIC bandwidth", format_quantity(analytic.fabric.nic_bandwidth.value),
             analytic.fabric.nic_bandwidth.source);
  add_source(table, "gemm efficiency", fmt::format("{:.3g}", efficiency.gemm.value), efficiency.gemm.source);
  add_source(table, "attention efficiency", fmt::format("{:.3g}", efficiency.attention.value),
             efficiency.attention.source);
  add_source(table, "memory efficiency", fmt::format("{:.3g}", efficiency.memory.value), efficiency.memory.source);
  add_source(table, "in-node efficiency", fmt::format("{:.3g}", efficiency.intra_node.value),
             efficiency.intra_node.source);
  add_source(table, "NIC efficiency", fmt::format("{:.3g}", efficiency.inter_node.value), efficiency.inter_node.source);
  return table;
}

constexpr const char* kAnalyticLimits =
    "A prediction from published numbers; nothing here ran on that cluster. Simulated: kernels by roofline, "
    "collectives by bandwidth and latency in a node and between nodes, pipeline, overlap, memory. Not simulated: "
    "failures and stragglers, congestion on shared links, checkpoints, data loading.";

void print_headline(const Session& session, const PlanReport& report) {
  const Estimate& best = report.result.ranked[report.picked];
  fmt::print("{}, {} parameters, on {} of {}\n{}\n", session.out.bold(report.request.model.name),
             parameters_text(parameter_count(report.request.model)), counted(report.request.ranks, "rank"),
             report.profile.name, types_text(report.request.base));
  fmt::print("{}, {}: {}\n  {} a step, {} tokens/s, MFU {}, {} of {} a rank\n\n",
             report.picked == 0 ? "best" : fmt::format("number {}", report.picked + 1),
             report.profile.analytic() != nullptr ? "predicted from published numbers" : "predicted",
             session.out.bold(degrees_text(best.layout)), session.out.bold(format_quantity(best.step_time)),
             tokens_text(best.tokens_per_second), percent(best.mfu), format_quantity(best.memory_peak),
             format_quantity(memory_per_rank(report.profile, report.request.ranks)));
}

ordered_json degrees(const Layout& layout) {
  return {{"tensor", layout.tensor},
          {"pipeline", layout.pipeline},
          {"data", layout.data},
          {"zero_stage", layout.zero_stage},
          {"schedule", to_string(layout.schedule)},
          {"recompute", to_string(layout.recompute)},
          {"sequence_parallel", layout.sequence_parallel},
          {"micro_batch", layout.micro_batch},
          {"accumulation", layout.accumulation},
          {"overlap_gradient_reduce", layout.overlap_gradient_reduce}};
}

ordered_json to_json(const PlanReport& report, const Estimate& estimate) {
  const auto obstacle = why_not(report.executor, report.request.model, estimate.layout);
  ordered_json object;
  object["layout"] = describe(estimate.layout);
  object["degrees"] = degrees(estimate.layout);
  object["step_time_s"] = estimate.step_time.si();
  object["tokens_per_second"] = estimate.tokens_per_second;
  object["mfu"] = estimate.mfu;
  object["memory_bytes"] = estimate.memory_peak.value();
  object["priced_by"] = priced_by(estimate);
  object["parts_s"] = {{"compute", estimate.parts.compute.si()},
                       {"tensor_exposed", estimate.parts.tensor_exposed.si()},
                       {"pipeline", estimate.parts.pipeline.si()},
                       {"gradient_exposed", estimate.parts.gradient_exposed.si()},
                       {"update", estimate.parts.update.si()}};
  object["runs_here"] = !obstacle.has_value();
  object["why_not"] = obstacle ? ordered_json(obstacle->detail) : ordered_json();
  return object;
}

}  // namespace

std::vector<std::string> ruled_out_lines(const simulator::PlannerResult& result) {
  std::vector<std::string> lines;
  for (const InfeasibleReason reason :
       {InfeasibleReason::kDivision, InfeasibleReason::kMemory, InfeasibleReason::kUnsupported}) {
    std::int64_t count = 0;
    const simulator::RuledOut* commonest = nullptr;
    for (const simulator::RuledOut& entry : result.ruled_out) {
      if (entry.reason == reason) {
        count += entry.count;
        commonest = commonest == nullptr || entry.count > commonest->count ? &entry : commonest;
      }
    }
    if (commonest != nullptr) {
      lines.push_back(fmt::format("{} {}, such as {}: {}", count, ruled_out_text(reason),
                                  degrees_text(commonest->example_layout), commonest->example.detail));
    }
  }
  return lines;
}

void print_report(const Session& session, const PlanReport& report) {
  const int columns = std::clamp(session.out.columns(), 80, 120);
  print_headline(session, report);
  fmt::print("{}", layouts_table(report).text(session.out));
  print_legend(report, columns);
  if (report.explain) {
    fmt::print("\nwhere the step goes, by formula\n{}", parts_table(report).text(session.out));
  }
  fmt::print("\n{} layouts considered in {}, {} can work", report.result.considered, format_quantity(report.elapsed),
             report.result.ranked.size());
  fmt::print("{}\n", report.result.ruled_out.empty() ? "." : "; ruled out:");
  for (const std::string& line : ruled_out_lines(report.result)) {
    fmt::print("  {}\n", wrap(line, columns - 2, 4));
  }
  if (const AnalyticProfile* analytic = report.profile.analytic()) {
    fmt::print("\n{}\n", wrap(kAnalyticLimits, columns, 0));
    if (report.explain) {
      fmt::print("\n{}", sources_table(*analytic, report.request.base.compute_type).text(session.out));
    } else {
      fmt::print("Where the constants come from: --explain\n");
    }
  }
  if (!report.output.empty()) {
    fmt::print("\nplan: {}\n", report.output);
  }
}

ordered_json to_json(const PlanReport& report) {
  ordered_json object;
  object["model"] = report.request.model.name;
  object["parameters"] = parameter_count(report.request.model);
  object["ranks"] = report.request.ranks;
  object["machine"] = report.profile.name;
  object["provenance"] = report.profile.analytic() != nullptr ? "published numbers" : "measured";
  object["limits"] = report.profile.analytic() != nullptr ? ordered_json(kAnalyticLimits) : ordered_json();
  object["considered"] = report.result.considered;
  object["feasible"] = report.result.ranked.size();
  object["elapsed_s"] = report.elapsed.si();
  object["picked"] = report.picked + 1;
  object["output"] = report.output.empty() ? ordered_json() : ordered_json(report.output);
  object["layouts"] = ordered_json::array();
  for (std::size_t i = 0; i < std::max(shown(report), report.picked + 1); ++i) {
    object["layouts"].push_back(to_json(report, report.result.ranked[i]));
  }
  object["ruled_out"] = ordered_json::array();
  for (const simulator::RuledOut& entry : report.result.ruled_out) {
    object["ruled_out"].push_back({{"reason", to_string(entry.reason)},
                                   {"count", entry.count},
                                   {"example_layout", describe(entry.example_layout)},
                                   {"example", entry.example.detail}});
  }
  return object;
}

}  // namespace trainyard::cli
