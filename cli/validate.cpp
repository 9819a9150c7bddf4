// trainyard validate: predicted against published measurements, with the constants fitted from them on request.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "cli/exit_code.h"
#include "cli/file_arguments.h"
#include "cli/json/output.h"
#include "cli/long_answer.h"
#include "cli/text/counted.h"
#include "cli/text/table.h"
#include "cli/validate_throughput.h"
#include "cli/verbs.h"
#include "core/document/read_file.h"
#include "core/document/write_file.h"
#include "core/error.h"
#include "core/units/format_quantity.h"
#include "simulator/collective/validate_collectives.h"
#include "simulator/throughput/published_throughput.h"

namespace trainyard::cli {

namespace {

using nlohmann::ordered_json;
using simulator::CollectiveValidation;
using simulator::ErrorSummary;
using simulator::ValidationRow;

constexpr double kGiga = 1e9;

struct Options {
  std::string file;
  std::string constants;
  std::string output;
  std::vector<std::string> anchors;
  std::string hardware;
  bool fit = false;
  bool leave_one_out = false;
  bool rows = false;
};

ordered_json gbps(const ValidationRow& row, BytesPerSecond rate) {
  return row.reason.empty() ? ordered_json(rate.si() / kGiga) : ordered_json(nullptr);
}

ordered_json to_json(const ValidationRow& row) {
  ordered_json object;
  object["id"] = row.id;
  object["predicted"] = gbps(row, row.predicted);
  object["measured"] = row.measured.si() > 0.0 ? ordered_json(row.measured.si() / kGiga) : ordered_json(nullptr);
  object["error"] = row.reason.empty() ? ordered_json(row.error) : ordered_json(nullptr);
  object["low"] = gbps(row, row.low);
  object["high"] = gbps(row, row.high);
  object["flags"] = row.flags;
  object["in_summary"] = row.reason.empty() && !row.excluded && row.size.has_value();
  if (row.reason.empty()) {
    object["class"] = row.curve_class;
    object["evidence"] = to_string(row.evidence);
  } else {
    object["reason"] = row.reason;
  }
  if (row.left_out_error) {
    object["left_out_error"] = *row.left_out_error;
  }
  return object;
}

ordered_json to_json(const std::optional<ErrorSummary>& summary, bool coverage) {
  if (!summary) {
    return nullptr;
  }
  ordered_json object;
  object["rows"] = summary->rows;
  object["median_error"] = summary->median;
  object["p90_error"] = summary->p90;
  if (coverage) {
    object["coverage"] = summary->coverage;
  }
  return object;
}

ordered_json to_json(const CollectiveValidation& validation, bool leave_one_out) {
  ordered_json object;
  object["kind"] = "collectives";
  object["unit"] = "GB/s of bus bandwidth";
  object["rows"] = ordered_json::array();
  for (const ValidationRow& row : validation.rows) {
    object["rows"].push_back(to_json(row));
  }
  const simulator::ValidationSummary& summary = validation.summary;
  ordered_json& out = object["summary"];
  out["rows"] = summary.rows;
  out["scored"] = summary.scored;
  out["excluded"] = summary.excluded;
  out["from_1_mib"] = to_json(summary.large, true);
  out["below_1_mib"] = to_json(summary.small, true);
  out["all"] = to_json(summary.all, true);
  if (leave_one_out) {
    out["leave_one_source_out"]["from_1_mib"] = to_json(summary.left_out_large, false);
    out["leave_one_source_out"]["below_1_mib"] = to_json(summary.left_out_small, false);
  }
  out["classes"] = ordered_json::object();
  for (const auto& [name, errors] : summary.classes) {
    out["classes"][name] = to_json(errors, true);
  }
  return object;
}

std::string percent(double value) { return fmt::format("{:.1f} %", 100.0 * value); }

void add_summary(Table& table, const std::string& name, const std::optional<ErrorSummary>& summary, bool coverage) {
  if (summary) {
    table.add_row({name, std::to_string(summary->rows), percent(summary->median), percent(summary->p90),
                   coverage ? percent(summary->coverage) : ""});
  }
}

void print_rows(const Session& session, const CollectiveValidation& validation) {
  Table table({"id", "size", "predicted", "measured", "error", "low", "high", "class, flags"},
              {Align::kLeft, Align::kRight, Align::kRight, Align::kRight, Align::kRight, Align::kRight, Align::kRight,
               Align::kLeft});
  for (const ValidationRow& row : validation.rows) {
    if (!row.reason.empty()) {
      table.add_row({row.id, "", "", "", "", "", "", row.reason});
      continue;
    }
    const auto rate = [](BytesPerSecond value) { return fmt::format("{:.4g}", value.si() / kGiga); };
    table.add_row({row.id, row.size ? format_quantity(*row.size) : "peak", rate(row.predicted), rate(row.measured),
                   fmt::format("{:+.1f} %", 100.0 * row.error), rate(row.low), rate(row.high),
                   fmt::format("{} {}", row.curve_class, fmt::join(row.flags, " "))});
  }
  fmt::print("{}\n", table.text(session.out));
}

void print_validation(const Session& session, const Options& options, const CollectiveValidation& validation) {
  if (options.rows) {
    print_rows(session, validation);
  }
  const simulator::ValidationSummary& summary = validation.summary;
  fmt::print("{}: {} scored, {} of them kept out of the summary by a flag\n\n", counted(summary.rows, "point"),
             summary.scored, summary.excluded);
  Table table({"bus bandwidth", "points", "median error", "90th", "inside 80 % interval"},
              {Align::kLeft, Align::kRight, Align::kRight, Align::kRight, Align::kRight});
  add_summary(table, "from 1 MiB", summary.large, true);
  add_summary(table, "below 1 MiB", summary.small, true);
  add_summary(table, "all sizes", summary.all, true);
  if (options.leave_one_out) {
    table.add_rule();
    add_summary(table, "source left out, from 1 MiB", summary.left_out_large, false);
    add_summary(table, "source left out, below 1 MiB", summary.left_out_small, false);
  }
  table.add_rule();
  for (const auto& [name, errors] : summary.classes) {
    add_summary(table, name + ", from 1 MiB", errors, true);
  }
  fmt::print("{}", table.text(session.out));
}

std::vector<simulator::CollectiveAnchor> read_anchors(const Options& options,
                                                      const simulator::CollectiveModels& models) {
  std::vector<simulator::NcclTestsLog> logs;
  for (const std::string& file : options.anchors) {
    logs.push_back(simulator::parse_nccl_tests_log(read_text_file(file), file));
  }
  return simulator::make_anchors(logs, options.hardware, models);
}

void check_options(const Options& options) {
  if (!options.hardware.empty() && options.anchors.empty()) {
    throw Error("says what an anchor's log doesn't, and there is no anchor", "--hardware", "add --anchor LOG");
  }
  if (options.fit && !options.constants.empty()) {
    throw Error("the constants are fitted to FILE or read from --constants, not both", "--fit", "leave one out");
  }
  std::vector<FileArgument> inputs = {{"FILE", options.file}, {"--constants", options.constants}};
  for (const std::string& anchor : options.anchors) {
    inputs.push_back({"--anchor", anchor});
  }
  require_separate_files({{"--output", options.output}}, inputs);
}

simulator::CurveTable table_of(const Options& options, const simulator::CurveTable& shipped,
                               const std::vector<simulator::ClassifiedCollective>& points) {
  if (!options.constants.empty()) {
    return simulator::parse_curve_table(read_text_file(options.constants), options.constants);
  }
  if (!options.fit) {
    return shipped;
  }
  const std::vector<simulator::FitObservation> observations = simulator::fit_observations(points);
  if (observations.empty()) {
    throw Error(fmt::format("none of its {} points can be fitted to", points.size()), options.file,
                points.front().reason.empty() ? "they have no size, or a flag keeps them out: see --rows"
                                              : "the first: " + points.front().reason);
  }
  return simulator::fit_with_bands(observations);
}

// An anchor moves the rows of its own system only.
void warn_of_idle_anchors(const std::vector<simulator::CollectiveAnchor>& anchors,
                          const std::vector<simulator::ClassifiedCollective>& points) {
  for (const simulator::CollectiveAnchor& anchor : anchors) {
    const bool used = std::any_of(points.begin(), points.end(), [&](const simulator::ClassifiedCollective& point) {
      return point.reason.empty() &&
             simulator::system_key(point.site, point.op, point.shape.curve_class()) == anchor.key;
    });
    if (!used) {
      fmt::print(stderr, "note: no point is of the anchor's system ({}): it changes nothing\n", anchor.key);
    }
  }
}

int validate(const Session& session, const Options& options) {
  const std::string text = read_text_file(options.file);
  if (simulator::is_published_throughput(text)) {
    if (!options.hardware.empty() || !options.constants.empty()) {
      throw Error("is of collectives, and the file is of training throughput",
                  options.constants.empty() ? "--hardware" : "--constants", "leave it out");
    }
    return validate_published_throughput(
        session, text,
        {options.file, options.anchors, options.output, options.fit, options.leave_one_out, options.rows});
  }
  check_options(options);
  std::optional<LongAnswer> answer(std::in_place, session);
  const simulator::CollectiveModels models = simulator::shipped_collective_models();
  const std::vector<simulator::ClassifiedCollective> points =
      classify(simulator::parse_published_collectives(text, options.file), models.facts, models.exclusions);
  answer->show(options.fit ? "fitting constants, and again without each source" : "predicting");
  const simulator::CurveTable table = table_of(options, models.curves, points);
  const std::vector<simulator::CollectiveAnchor> anchors =
      read_anchors(options, {models.facts, table, models.exclusions});
  answer->show(options.leave_one_out ? "fitting constants without each source" : "predicting");
  const CollectiveValidation validation =
      simulator::validate_collectives(points, table, options.leave_one_out, anchors);
  answer->commit([&] {
    if (!options.output.empty()) {
      write_file(options.output,
                 simulator::curve_table_text(
                     table,
                     "trainyard validate collectives.json --fit --output FILE: nccl-tests and PyTorch benchmark logs, "
                     "named by class under series"));
    }
  });
  answer.reset();
  for (const std::string& doubt : simulator::header_doubts(text)) {
    fmt::print(stderr, "note: {}: {}\n", options.file, doubt);
  }
  warn_of_idle_anchors(anchors, points);
  if (session.json) {
    print_json(to_json(validation, options.leave_one_out));
  } else {
    print_validation(session, options, validation);
  }
  return kOk;
}

}  // namespace

void add_validate(CLI::App& app, Session& session, Action& action) {
  auto options = std::make_shared<Options>();
  CLI::App* verb = add_verb(app, session,
                            {"validate", "Compare predictions with published measurements, row by row",
                             "  trainyard validate collectives.json --leave-one-out"});
  verb->add_option(
          "FILE", options->file,
          "Published collectives, {schema, count, points}, or training throughput, [{id, model, hardware, ...}, ...]")
      ->required();
  verb->add_flag("--rows", options->rows, "Print every point, not the summary alone");
  verb->add_flag("--leave-one-out", options->leave_one_out,
                 "Also predict each point with constants fitted without its source");
  verb->add_option("--anchor", options->anchors,
                   "Your own nccl-tests log, or the id of a row that stands for a run of your own: sets the scale and "
                   "narrows the "
                   "interval for rows of that system or software")
      ->type_name("LOG");
  verb->add_option("--hardware", options->hardware,
                   "What the logs don't say, for example \"8x400G RoCE\"; default: the usual server of their GPU")
      ->type_name("TEXT");
  verb->add_flag("--fit", options->fit, "Fit the constants to FILE, in place of those that are shipped");
  verb->add_option("--constants", options->constants, "Curve constants to use, as in models/collectives/curves.json")
      ->type_name("FILE");
  verb->add_option("--output", options->output,
                   "Write the constants used here: a file, of training throughput a folder of stack profiles")
      ->type_name("FILE");
  verb->callback([options, &action] { action = [options](const Session& s) { return validate(s, *options); }; });
}

}  // namespace trainyard::cli
