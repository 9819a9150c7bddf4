#include "cli/validate_throughput.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>

#include "cli/exit_code.h"
#include "cli/json/output.h"
#include "cli/long_answer.h"
#include "cli/text/table.h"
#include "core/document/write_file.h"
#include "core/error.h"
#include "core/plan/plan.h"
#include "simulator/throughput/published_memory.h"
#include "simulator/throughput/published_throughput.h"
#include "simulator/throughput/validate_throughput.h"

namespace trainyard::cli {

namespace {

using nlohmann::ordered_json;
using simulator::ErrorStatistics;
using simulator::ThroughputRow;
using simulator::ThroughputSummary;
using simulator::ThroughputValidation;

ordered_json losses_json(const ThroughputRow& row) {
  ordered_json object;
  for (std::size_t i = 0; i < row.losses.size(); ++i) {
    object[fmt::format("{}_s", to_string(static_cast<simulator::StepLoss>(i)))] = row.losses.at(i).si();
  }
  return object;
}

ordered_json row_json(const ThroughputRow& row) {
  const bool scored = row.reason.empty();
  const auto number = [&](bool there, double value) { return there ? ordered_json(value) : ordered_json(nullptr); };
  ordered_json object;
  object["id"] = row.id;
  object["predicted"] = number(scored, row.predicted);
  object["measured"] = number(row.measured > 0.0, row.measured);
  object["error"] = number(scored && row.measured > 0.0, row.error);
  object["low"] = number(scored, row.low);
  object["high"] = number(scored, row.high);
  object["flags"] = row.flags;
  object["in_summary"] = scored && !row.excluded;
  if (!scored) {
    object["reason"] = row.reason;
    return object;
  }
  object["layout"] = describe(row.layout);
  object["stack"] = row.stack;
  object["evidence"] = to_string(row.evidence);
  object["losses"] = losses_json(row);
  if (row.left_out_error) {
    object["left_out_error"] = *row.left_out_error;
    object["left_out_scaled_error"] = *row.scaled_error;
    object["left_out_anchored_error"] = *row.anchored_error;
    object["left_out_as_anchor_error"] = *row.as_anchor_error;
  }
  return object;
}

ordered_json statistics_json(const ErrorStatistics& statistics, bool inside = true) {
  ordered_json object;
  object["rows"] = statistics.rows;
  object["mean_error"] = statistics.mean;
  object["max_error"] = statistics.max;
  object["bias"] = statistics.bias;
  object["p90_error"] = statistics.p90;
  if (inside) {
    object["inside_interval"] = statistics.inside;
  }
  return object;
}

ordered_json table_json(const std::map<std::string, ErrorStatistics>& table, bool inside = true) {
  ordered_json object = ordered_json::object();
  for (const auto& [name, statistics] : table) {
    object[name] = statistics_json(statistics, inside);
  }
  return object;
}

void add_memory(ordered_json& row, const simulator::MemoryScore& score) {
  ordered_json& object = row["memory"];
  object["predicted_bytes"] = score.predicted.value();
  object["measured_bytes"] = score.measured ? ordered_json(score.measured->value()) : ordered_json(nullptr);
  object["error"] = score.scored() ? ordered_json(score.error()) : ordered_json(nullptr);
  object["fits"] = !score.refused();
}

ordered_json memory_json(const simulator::MemorySummary& memory) {
  return {{"rows", memory.rows},     {"mean_error", memory.mean}, {"bias", memory.bias},
          {"max_error", memory.max}, {"ran", memory.ran},         {"refused", memory.refused}};
}

ordered_json summary_json(const ThroughputSummary& summary) {
  ordered_json out;
  out["rows"] = summary.rows;
  out["scored"] = summary.scored;
  out["excluded"] = summary.excluded;
  out["kinds"] = table_json(summary.kinds);
  out["mean_of_sources"] = summary.by_source;
  out["sources"] = table_json(summary.sources);
  out["families"] = table_json(summary.families);
  out["scales"] = table_json(summary.scales);
  out["grids"] = ordered_json::array();
  for (const simulator::GridStatistics& grid : summary.grids) {
    out["grids"].push_back({{"name", grid.name},
                            {"rows", grid.rows},
                            {"spearman", grid.spearman},
                            {"kendall_tau", grid.kendall},
                            {"regret", grid.regret}});
  }
  out["baselines"] = table_json(summary.baselines, false);
  for (const auto& [kind, left_out] : summary.left_out) {
    ordered_json& object = out["leave_one_source_out"][kind];
    object = statistics_json(left_out.rows, false);
    object["mean_of_sources"] = left_out.by_source;
    object["mean_of_sources_scaled"] = left_out.scaled;
    object["mean_of_sources_anchored"] = left_out.anchored;
    object["mean_of_sources_anchored_on_median_run"] = left_out.typical;
    object["sources"] = table_json(left_out.sources, false);
  }
  return out;
}

std::string percent(double value) { return fmt::format("{:.1f} %", 100.0 * value); }

void add_statistics(Table& table, const std::string& name, const ErrorStatistics& statistics, bool inside = true) {
  table.add_row({name, std::to_string(statistics.rows), percent(statistics.mean),
                 fmt::format("{:+.1f} %", 100.0 * statistics.bias), percent(statistics.p90), percent(statistics.max),
                 inside ? percent(statistics.inside) : ""});
}

void print_rows(const Session& session, const ThroughputValidation& validation) {
  Table table({"id", "predicted", "measured", "error", "low", "high", "layout, stack, flags"},
              {Align::kLeft, Align::kRight, Align::kRight, Align::kRight, Align::kRight, Align::kRight, Align::kLeft});
  for (const ThroughputRow& row : validation.rows) {
    if (!row.reason.empty()) {
      table.add_row({row.id, "", "", "", "", "", row.reason});
      continue;
    }
    const auto rate = [](double value) { return fmt::format("{:.4g}", value); };
    table.add_row({row.id, rate(row.predicted), rate(row.measured), fmt::format("{:+.1f} %", 100.0 * row.error),
                   rate(row.low), rate(row.high),
                   fmt::format("{} | {} {}", describe(row.layout), row.stack, fmt::join(row.flags, " "))});
  }
  fmt::print("{}\n", table.text(session.out));
}

void print_left_out(const Session& session, const ThroughputSummary& summary) {
  if (summary.left_out.empty()) {
    return;
  }
  Table table({"source left out", "rows", "mean error", "bias", "90th", "worst", "of sources", "scaled", "anchored",
               "on a median run"},
              {Align::kLeft, Align::kRight, Align::kRight, Align::kRight, Align::kRight, Align::kRight, Align::kRight,
               Align::kRight, Align::kRight, Align::kRight});
  for (const auto& [kind, left_out] : summary.left_out) {
    const ErrorStatistics& rows = left_out.rows;
    table.add_row({kind, std::to_string(rows.rows), percent(rows.mean), fmt::format("{:+.1f} %", 100.0 * rows.bias),
                   percent(rows.p90), percent(rows.max), percent(left_out.by_source), percent(left_out.scaled),
                   percent(left_out.anchored), percent(left_out.typical)});
  }
  fmt::print("\n{}", table.text(session.out));
}

void print_memory(const simulator::MemorySummary& memory) {
  if (memory.rows > 0) {
    fmt::print("\nmemory: {} peaks that are stated, mean error {}, bias {:+.1f} %, worst {}\n", memory.rows,
               percent(memory.mean), 100.0 * memory.bias, percent(memory.max));
  }
  if (memory.ran > 0) {
    fmt::print("{}of {} layouts that ran {} {} said not to fit\n", memory.rows > 0 ? "" : "\n", memory.ran,
               memory.refused, memory.refused == 1 ? "is" : "are");
  }
}

void print_validation(const Session& session, const ThroughputValidation& validation, bool rows) {
  if (rows) {
    print_rows(session, validation);
  }
  const ThroughputSummary& summary = validation.summary;
  fmt::print("{} rows: {} priced, {} of them kept out of the summary by a flag\n\n", summary.rows, summary.scored,
             summary.excluded);
  Table table({"tokens/s per GPU", "rows", "mean error", "bias", "90th", "worst", "inside 80 % interval"},
              {Align::kLeft, Align::kRight, Align::kRight, Align::kRight, Align::kRight, Align::kRight, Align::kRight});
  for (const auto* part : {&summary.kinds, &summary.sources, &summary.families, &summary.scales}) {
    for (const auto& [name, statistics] : *part) {
      add_statistics(table, name, statistics);
    }
    table.add_rule();
  }
  for (const auto& [name, statistics] : summary.baselines) {
    add_statistics(table, "baseline: " + name, statistics, false);
  }
  fmt::print("{}\n", table.text(session.out));
  Table grids({"layouts ranked", "rows", "Spearman", "Kendall", "regret"},
              {Align::kLeft, Align::kRight, Align::kRight, Align::kRight, Align::kRight});
  for (const simulator::GridStatistics& grid : summary.grids) {
    grids.add_row({grid.name, std::to_string(grid.rows), fmt::format("{:.2f}", grid.spearman),
                   fmt::format("{:.2f}", grid.kendall), percent(grid.regret)});
  }
  fmt::print("{}", grids.text(session.out));
  print_left_out(session, summary);
}

void write_profiles(const simulator::StackLibrary& library, const std::string& folder) {
  std::filesystem::create_directories(folder);
  for (const auto* part : {&library.stacks, &library.families}) {
    for (const auto& [name, profile] : *part) {
      write_file((std::filesystem::path(folder) / (name + ".json")).string(), stack_profile_text(profile));
    }
  }
}

}  // namespace

int validate_published_throughput(const Session& session, const std::string& text,
                                  const ThroughputValidationOptions& options) {
  std::optional<LongAnswer> answer(std::in_place, session);
  const std::vector<simulator::ThroughputCase> cases = simulator::make_cases(
      simulator::parse_published_throughput(text, options.file), simulator::shipped_throughput_exclusions());
  answer->show(options.fit ? "fitting constants, and again without each source and group" : "predicting");
  const simulator::StackLibrary library = options.fit ? simulator::fit_with_bands(cases) : simulator::shipped_stacks();
  answer->show(options.leave_one_out ? "fitting constants without each source" : "predicting");
  const ThroughputValidation validation =
      simulator::validate_throughput(cases, library, {options.leave_one_out, options.anchors});
  answer->commit([&] {
    if (!options.output.empty()) {
      write_profiles(library, options.output);
    }
  });
  answer.reset();
  const std::vector<simulator::MemoryScore> memory = simulator::score_memory(cases);
  if (session.json) {
    ordered_json object;
    object["kind"] = "throughput";
    object["unit"] = "tokens/s per GPU";
    object["rows"] = ordered_json::array();
    for (const ThroughputRow& row : validation.rows) {
      object["rows"].push_back(row_json(row));
    }
    for (const simulator::MemoryScore& score : memory) {
      add_memory(object["rows"].at(score.row), score);
    }
    object["summary"] = summary_json(validation.summary);
    object["summary"]["memory"] = memory_json(summarise_memory(memory));
    print_json(object);
  } else {
    print_validation(session, validation, options.rows);
    print_memory(summarise_memory(memory));
  }
  return kOk;
}

}  // namespace trainyard::cli
