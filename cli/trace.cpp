// trainyard trace: turns a simulated or measured trace into a file that Perfetto opens.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>

#include "cli/exit_code.h"
#include "cli/file_arguments.h"
#include "cli/json/output.h"
#include "cli/verbs.h"
#include "core/document/write_file.h"
#include "core/error.h"
#include "core/plan/chrome_trace.h"
#include "core/plan/trace.h"
#include "core/units/format_quantity.h"

namespace trainyard::cli {

namespace {

struct Options {
  std::string source;
  std::string chrome;
};

// A run's folder holds its trace beside the run record.
std::filesystem::path trace_file(const std::filesystem::path& source) {
  if (!std::filesystem::is_directory(source)) {
    return source;
  }
  const std::filesystem::path file = source / "trace.json";
  if (!std::filesystem::exists(file)) {
    throw Error("holds no trace.json", source.string(), "is it the folder of a run, and did the run end?");
  }
  return file;
}

int trace(const Session& session, const Options& options) {
  const std::filesystem::path source = trace_file(options.source);
  require_separate_files({{"--chrome", options.chrome}}, {{"TRACE", source.string()}});
  const Trace trace = read_trace(source);
  write_file(options.chrome, to_chrome_json(trace));
  std::set<std::int32_t> ranks;
  for (const Slice& slice : trace.slices) {
    ranks.insert(slice.rank.value());
  }
  if (session.json) {
    print_json({{"chrome", options.chrome},
                {"simulated", trace.simulated},
                {"step", trace.step},
                {"duration_s", to_seconds(trace.duration).si()},
                {"ranks", ranks.size()},
                {"slices", trace.slices.size()}});
  } else {
    fmt::print("{}: {} {} of step {}, {} ranks, {} slices. Open it at https://ui.perfetto.dev\n", options.chrome,
               format_quantity(to_seconds(trace.duration)), trace.simulated ? "simulated" : "measured", trace.step + 1,
               ranks.size(), trace.slices.size());
  }
  return kOk;
}

}  // namespace

void add_trace(CLI::App& app, Session& session, Action& action) {
  auto options = std::make_shared<Options>();
  CLI::App* verb = add_verb(
      app, session,
      {"trace", "Turn a trace into a file for Perfetto", "  trainyard trace runs/first --chrome timeline.json"});
  verb->add_option("TRACE", options->source, "Trace that `simulate --trace` wrote, or the folder of a run")->required();
  verb->add_option("--chrome", options->chrome, "Timeline to write, for ui.perfetto.dev or chrome://tracing")
      ->type_name("FILE")
      ->required();
  verb->callback([options, &action] { action = [options](const Session& s) { return trace(s, *options); }; });
}

}  // namespace trainyard::cli
