#include "cli/plan_cluster_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "cli/json/output.h"
#include "cli/text/table.h"
#include "core/layout/layout_legend.h"
#include "core/layout/layout_text.h"
#include "core/model/parameter.h"
#include "core/units/format_quantity.h"
#include "simulator/planner/layout_pricer.h"
#include "simulator/step/loss_dust.h"

namespace trainyard::cli {

namespace {

using nlohmann::ordered_json;
using simulator::MemoryUse;
using simulator::RankedLayout;
using simulator::StepLoss;

constexpr double kSecondsPerHour = 3600.0;
constexpr std::size_t kMostParetoRows = 8;

std::string percent(double share) { return fmt::format("{:.1f} %", 100.0 * share); }

std::string counted_parameters(std::int64_t count) {
  const auto value = static_cast<double>(count);
  return value < 1e9 ? fmt::format("{:.3g} M", value / 1e6) : fmt::format("{:.4g} B", value / 1e9);
}

// Of a step, at the price of a GPU's hour.
double cost_of(const ClusterPlan& plan, const simulator::StepPrice& step) {
  return plan.options.gpu_hour_price.value_or(0.0) * static_cast<double>(plan.request.space.ranks) *
         step.step_time.si() / kSecondsPerHour;
}

Table layouts_table(const ClusterPlan& plan, const std::vector<RankedLayout>& layouts, std::size_t rows) {
  std::vector<std::string> headings = {"", "step", "4 of 5 within", "tokens/s", "MFU", "memory/rank"};
  std::vector<Align> alignment(6, Align::kRight);
  const bool priced = plan.options.gpu_hour_price.has_value();
  if (priced) {
    headings.emplace_back("cost/B tokens");
    alignment.push_back(Align::kRight);
  }
  const bool useful = plan.goodput.size() == layouts.size() && &layouts == &plan.result.best;
  if (useful) {
    headings.insert(headings.end(), {"goodput", "useful B tokens/d", "save every"});
    alignment.insert(alignment.end(), 3, Align::kRight);
  }
  headings.emplace_back("layout");
  alignment.push_back(Align::kLeft);
  Table table(headings, alignment);
  for (std::size_t i = 0; i < std::min(rows, layouts.size()); ++i) {
    const RankedLayout& row = layouts[i];
    std::vector<std::string> cells = {std::to_string(i + 1),
                                      format_quantity(row.step.step_time),
                                      format_quantity(row.step.low) + " - " + format_quantity(row.step.high),
                                      tokens_text(tokens_per_second(plan.request.space.workload, row.step)),
                                      percent(mfu(row.step)),
                                      format_quantity(row.memory.total)};
    if (priced) {
      const double tokens =
          static_cast<double>(plan.request.space.workload.global_batch * plan.request.space.workload.sequence);
      cells.push_back(fmt::format("{:.0f}", 1e9 * cost_of(plan, row.step) / tokens));
    }
    if (useful) {
      const simulator::GoodputLayout& after = plan.goodput[i];
      cells.insert(cells.end(), {percent(after.goodput), fmt::format("{:.4g}", after.tokens_per_day / 1e9),
                                 format_quantity(after.interval.storage)});
    }
    cells.push_back(layout_text(row.layout));
    table.add_row(cells);
  }
  return table;
}

std::vector<Align> numbers_after_name(std::size_t columns) {
  std::vector<Align> alignment(columns, Align::kRight);
  alignment.front() = Align::kLeft;
  return alignment;
}

// The losses of one or two layouts from peak to achieved; sums are the steps.
Table waterfall(const std::vector<const simulator::StepPrice*>& steps, const std::vector<std::string>& names) {
  std::vector<simulator::StepLosses> losses;
  for (const simulator::StepPrice* step : steps) {
    losses.push_back(simulator::without_dust(step->losses));
  }
  std::vector<std::string> headings = {"where the step goes"};
  headings.insert(headings.end(), names.begin(), names.end());
  Table table(headings, numbers_after_name(headings.size()));
  for (int loss = 0; loss < simulator::kStepLosses; ++loss) {
    std::vector<std::string> cells = {std::string(title_of(static_cast<StepLoss>(loss)))};
    bool any = false;
    for (const simulator::StepLosses& parts : losses) {
      const Seconds part = parts.at(static_cast<std::size_t>(loss));
      any = any || part.si() != 0.0;
      cells.push_back(format_quantity(part));
    }
    if (steps.size() == 2) {
      const auto at = static_cast<std::size_t>(loss);
      cells.push_back(fmt::format("{:+.1f} %", 100.0 * (losses[1].at(at) - losses[0].at(at)) / steps[0]->step_time));
    }
    if (any) {
      table.add_row(cells);
    }
  }
  table.add_rule();
  std::vector<std::string> cells = {"step"};
  for (const simulator::StepPrice* step : steps) {
    cells.push_back(format_quantity(step->step_time));
  }
  if (steps.size() == 2) {
    cells.push_back(fmt::format("{:+.1f} %", 100.0 * (steps[1]->step_time / steps[0]->step_time - 1.0)));
  }
  table.add_row(cells);
  return table;
}

Table memory_table(const std::vector<const simulator::MemoryPrice*>& prices, const std::vector<std::string>& names) {
  std::vector<std::string> headings = {"memory of the fullest rank"};
  headings.insert(headings.end(), names.begin(), names.end());
  Table table(headings, numbers_after_name(headings.size()));
  for (int use = 0; use < simulator::kMemoryUses; ++use) {
    std::vector<std::string> cells = {std::string(to_string(static_cast<MemoryUse>(use)))};
    bool any = false;
    for (const simulator::MemoryPrice* price : prices) {
      const ByteCount bytes = price->of(static_cast<MemoryUse>(use));
      any = any || bytes.value() != 0;
      cells.push_back(format_quantity(bytes));
    }
    if (any) {
      table.add_row(cells);
    }
  }
  table.add_rule();
  std::vector<std::string> cells = {"total"};
  for (const simulator::MemoryPrice* price : prices) {
    cells.push_back(format_quantity(price->total));
  }
  table.add_row(cells);
  return table;
}

void print_counts(const ClusterPlan& plan, int columns) {
  const simulator::SearchResult& result = plan.result;
  fmt::print(
      "\n{}\n",
      wrap(fmt::format(
               "{} layouts in {}: {} fit{}, {} need too much memory, degrees of {} more don't divide what "
               "they cut.{}",
               result.considered, format_quantity(plan.elapsed), result.feasible,
               result.pruned > 0 ? fmt::format(" ({} of them can't be among the best, by their bound)", result.pruned)
                                 : "",
               result.too_large,
               [&] {
                 std::int64_t count = 0;
                 for (const auto& entry : result.impossible) {
                   count += entry.count;
                 }
                 return count;
               }(),
               result.nearest_miss
                   ? " Nearest miss: " + layout_text(result.nearest_layout) + ": " + result.nearest_miss->detail + "."
                   : ""),
           columns, 0));
}

void print_explained(const Session& session, const ClusterPlan& plan, int columns) {
  const RankedLayout& best = plan.result.best[plan.picked];
  if (!plan.explained) {
    fmt::print("\n{}\n{}", waterfall({&best.step}, {layout_text(best.layout)}).text(session.out),
               memory_table({&best.memory}, {""}).text(session.out));
    return;
  }
  const ExplainedLayout& other = *plan.explained;
  fmt::print("\n{}\n", wrap(session.out.bold(layout_text(other.layout)), columns, 2));
  if (other.lacks) {
    fmt::print("{}\n", wrap("doesn't fit: " + other.lacks->detail, columns, 2));
    if (other.change) {
      fmt::print("{}\n", wrap(fmt::format("would fit with {}: {}, {} a step", other.change->change,
                                          layout_text(other.change->result.layout),
                                          format_quantity(other.change->result.step.step_time)),
                              columns, 2));
    } else {
      fmt::print("no one or two changes would make it fit\n");
    }
  } else {
    fmt::print("{:.1f} % slower than the best\n", 100.0 * (other.step.step_time / best.step.step_time - 1.0));
  }
  fmt::print("\n{}\n{}", waterfall({&best.step, &other.step}, {"best", "this", "of best"}).text(session.out),
             memory_table({&best.memory, &other.memory}, {"best", "this"}).text(session.out));
}

// Every layout that the tables and the lines name.
std::vector<std::string> shown_layouts(const ClusterPlan& plan) {
  std::vector<std::string> shown;
  const auto add = [&shown](const Layout& layout) { shown.push_back(layout_text(layout)); };
  const auto add_rows = [&add](const std::vector<RankedLayout>& rows, std::size_t most) {
    for (std::size_t i = 0; i < std::min(rows.size(), most); ++i) {
      add(rows[i].layout);
    }
  };
  add(plan.result.best[plan.picked].layout);
  add_rows(plan.result.best, plan.options.top);
  add_rows(plan.result.pareto, plan.result.pareto.size() > 1 ? kMostParetoRows : 0);
  for (const GraphCheck& check : plan.checks) {
    if (check.simulated) {
      add(check.layout);
    }
  }
  if (plan.explained) {
    add(plan.explained->layout);
    if (plan.explained->change) {
      add(plan.explained->change->result.layout);
    }
  }
  if (plan.result.nearest_miss) {
    add(plan.result.nearest_layout);
  }
  return shown;
}

// How the times were found, and what nobody measured.
std::string method_text(const ClusterPlan& plan) {
  std::string text =
      plan.checks.empty()
          ? "Times are by formula; --simulate N, with a fabric as the cluster, goes by the best N's instructions."
          : "Times of the ranking are by formula.";
  const RankedLayout& best = plan.result.best[plan.picked];
  if (best.layout.pipeline > 1 && simulator::unmeasured(best.layout.schedule)) {
    text += fmt::format(
        " No profile of models/stacks was fitted to runs under {}: the intervals of zb-* and dualpipe "
        "are {} times as wide.",
        to_string(best.layout.schedule), simulator::kUnmeasuredBand);
  }
  return text;
}

ordered_json losses_json(const simulator::StepPrice& step) {
  ordered_json object = ordered_json::object();
  const simulator::StepLosses losses = simulator::without_dust(step.losses);
  for (int loss = 0; loss < simulator::kStepLosses; ++loss) {
    object[std::string(to_string(static_cast<StepLoss>(loss)))] = losses.at(static_cast<std::size_t>(loss)).si();
  }
  return object;
}

ordered_json memory_json(const simulator::MemoryPrice& memory) {
  ordered_json object = ordered_json::object();
  for (int use = 0; use < simulator::kMemoryUses; ++use) {
    object[std::string(to_string(static_cast<MemoryUse>(use)))] = memory.of(static_cast<MemoryUse>(use)).value();
  }
  return object;
}

ordered_json rows_json(const std::vector<RankedLayout>& layouts, std::size_t rows,
                       const simulator::Workload& workload) {
  ordered_json array = ordered_json::array();
  for (std::size_t i = 0; i < std::min(rows, layouts.size()); ++i) {
    array.push_back(to_json(layouts[i], workload));
  }
  return array;
}

ordered_json explained_json(const ExplainedLayout& explained, const simulator::Workload& workload) {
  ordered_json object = to_json(RankedLayout{explained.layout, explained.step, explained.memory, 0, 0, 0}, workload);
  object["lacks"] = explained.lacks ? ordered_json(explained.lacks->detail) : ordered_json();
  object["fits_with"] = explained.change ? ordered_json(explained.change->change) : ordered_json();
  object["fitting_layout"] = explained.change ? to_json(explained.change->result, workload) : ordered_json();
  return object;
}

}  // namespace

double tokens_per_second(const simulator::Workload& workload, const simulator::StepPrice& step) {
  return static_cast<double>(workload.global_batch * workload.sequence) / step.step_time.si();
}

double mfu(const simulator::StepPrice& step) {
  return step.losses.at(static_cast<std::size_t>(StepLoss::kIdeal)) / step.step_time;
}

std::string tokens_text(double per_second) {
  return per_second < 1e6 ? fmt::format("{:.0f}", per_second) : fmt::format("{:.2f} M", per_second / 1e6);
}

namespace {

std::string detectors_text(const std::vector<DetectorKind>& kinds) {
  std::string text;
  for (const DetectorKind kind : kinds) {
    text += (text.empty() ? "" : ", ") + std::string(to_string(kind));
  }
  return text.empty() ? "none" : text;
}

void print_goodput(const ClusterPlan& plan) {
  if (plan.goodput.empty()) {
    return;
  }
  const simulator::GoodputLayout& picked = plan.goodput[plan.picked];
  fmt::print("\nfailures as {}: one in {}, goodput {}, {:.4g} B useful tokens a day\n", plan.failures,
             format_quantity(picked.mttf), percent(picked.goodput), picked.tokens_per_day / 1e9);
  fmt::print("  save every {}; {} spare nodes; timeouts: heartbeat {}, hang {}, joining {}; detectors: {}\n",
             format_quantity(picked.interval.storage), picked.spares, format_quantity(picked.timeouts.heartbeat),
             format_quantity(picked.timeouts.hang), format_quantity(picked.timeouts.join),
             detectors_text(picked.detectors));
}

}  // namespace

void print_cluster_plan(const Session& session, const ClusterPlan& plan) {
  const int columns = std::clamp(session.out.columns(), 80, 120);
  const simulator::SearchRequest& request = plan.request;
  const RankedLayout& best = plan.result.best[plan.picked];
  fmt::print("{}, {} parameters, on {} {} of {}; {} in {}; software as {}\n",
             session.out.bold(request.space.workload.model.name),
             counted_parameters(parameter_count(request.space.workload.model)), request.space.ranks,
             request.machine.accelerator.name, request.machine.fabric.name, "products",
             to_string(request.space.base.compute_type), request.machine.stack.name);
  fmt::print("{}, predicted: {}\n  {} a step, {} tokens/s, MFU {}, {} of {} a rank\n\n",
             plan.options.pick != 1 ? fmt::format("number {}", plan.options.pick)
             : fastest(plan.checks) != nullptr
                 ? fmt::format("best of those simulated, number {} by formula", plan.picked + 1)
                 : "best",
             session.out.bold(layout_text(best.layout)), session.out.bold(format_quantity(best.step.step_time)),
             tokens_text(tokens_per_second(request.space.workload, best.step)), percent(mfu(best.step)),
             format_quantity(best.memory.total), format_quantity(plan.result.available));
  if (const GraphCheck* check = fastest(plan.checks); check != nullptr && check->place == plan.picked) {
    fmt::print("  on the cluster's graph, instruction by instruction: {} a step\n\n",
               session.out.bold(format_quantity(check->simulated->median)));
  }
  fmt::print("{}", layouts_table(plan, plan.result.best, plan.options.top).text(session.out));
  print_goodput(plan);
  if (plan.result.pareto.size() > 1) {
    fmt::print("\nfaster or smaller than all others\n{}",
               layouts_table(plan, plan.result.pareto, kMostParetoRows).text(session.out));
  }
  fmt::print("\n{}\n", wrap(layout_legend(shown_layouts(plan)), columns, 0));
  fmt::print("{}\n", wrap(method_text(plan), columns, 0));
  if (plan.options.explain) {
    print_explained(session, plan, columns);
  }
  print_counts(plan, columns);
  if (!plan.checks.empty()) {
    print_graph_checks(session, plan.checks);
  }
  if (!plan.options.output.empty()) {
    fmt::print("\nplan: {}\n", plan.options.output);
  }
}

ordered_json to_json(const RankedLayout& layout, const simulator::Workload& workload) {
  ordered_json object;
  object["layout"] = layout_text(layout.layout);
  object["step_time_s"] = layout.step.step_time.si();
  object["low_s"] = layout.step.low.si();
  object["high_s"] = layout.step.high.si();
  object["tokens_per_second"] = tokens_per_second(workload, layout.step);
  object["mfu"] = mfu(layout.step);
  object["memory_bytes"] = layout.memory.total.value();
  object["memory_stage"] = layout.memory.stage;
  object["losses_s"] = losses_json(layout.step);
  object["memory_by_use_bytes"] = memory_json(layout.memory);
  return object;
}

namespace {

ordered_json goodput_json(const ClusterPlan& plan) {
  if (plan.goodput.empty()) {
    return nullptr;
  }
  ordered_json array = ordered_json::array();
  const std::size_t shown = std::min(plan.goodput.size(), std::max(plan.options.top, plan.picked + 1));
  for (std::size_t i = 0; i < shown; ++i) {
    const simulator::GoodputLayout& layout = plan.goodput[i];
    ordered_json detectors = ordered_json::array();
    for (const DetectorKind kind : layout.detectors) {
      detectors.push_back(to_string(kind));
    }
    array.push_back({{"layout", layout_text(layout.layout.layout)},
                     {"goodput", layout.goodput},
                     {"useful_tokens_per_day", layout.tokens_per_day},
                     {"mttf_s", layout.mttf.si()},
                     {"interval_s", layout.interval.storage.si()},
                     {"spare_nodes", layout.spares},
                     {"heartbeat_timeout_s", layout.timeouts.heartbeat.si()},
                     {"hang_timeout_s", layout.timeouts.hang.si()},
                     {"join_timeout_s", layout.timeouts.join.si()},
                     {"detectors", detectors}});
  }
  return {{"failures", plan.failures}, {"layouts", array}};
}

}  // namespace

ordered_json to_json(const ClusterPlan& plan) {
  const simulator::SearchRequest& request = plan.request;
  ordered_json object;
  object["model"] = request.space.workload.model.name;
  object["parameters"] = parameter_count(request.space.workload.model);
  object["ranks"] = request.space.ranks;
  object["machine"] = request.machine.fabric.name;
  object["accelerator"] = request.machine.accelerator.name;
  object["stack"] = request.machine.stack.name;
  if (!plan.anchors.empty()) {
    object["anchors"] = to_json(plan.anchors);
  }
  object["provenance"] = "published numbers";
  object["considered"] = plan.result.considered;
  object["feasible"] = plan.result.feasible;
  object["pruned"] = plan.result.pruned;
  object["too_large"] = plan.result.too_large;
  object["elapsed_s"] = plan.elapsed.si();
  object["available_bytes"] = plan.result.available.value();
  object["picked"] = plan.picked + 1;
  object["output"] = plan.options.output.empty() ? ordered_json() : ordered_json(plan.options.output);
  object["layouts"] = rows_json(plan.result.best, std::max(plan.options.top, plan.picked + 1), request.space.workload);
  object["pareto"] = rows_json(plan.result.pareto, plan.result.pareto.size(), request.space.workload);
  object["explained"] = plan.explained ? explained_json(*plan.explained, request.space.workload) : ordered_json();
  object["nearest_miss"] = plan.result.nearest_miss ? ordered_json(plan.result.nearest_miss->detail) : ordered_json();
  object["impossible"] = ordered_json::array();
  for (const simulator::ImpossibleDegrees& entry : plan.result.impossible) {
    object["impossible"].push_back({{"count", entry.count}, {"reason", entry.detail}});
  }
  object["on_graph"] = to_json(plan.checks);
  object["goodput"] = goodput_json(plan);
  return object;
}

}  // namespace trainyard::cli
