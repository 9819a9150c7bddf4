#include "cli/command_line.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "cli/gui.h"
#include "cli/text/help_format.h"
#include "cli/verbs.h"
#include "core/document/nearest_name.h"
#include "core/error.h"
#include "core/plan/provenance.h"

namespace trainyard::cli {

namespace {

constexpr const char* kDescription =
    "Plan, simulate and run sharded training of large language models.\n"
    "The usual order: doctor, calibrate, plan, simulate, run, compare.";
constexpr const char* kFooter =
    "`trainyard VERB --help` shows a verb's flags and an example. Every verb takes --json.\n"
    "Exit codes: 0 done, 1 the run failed, 2 something to put right, 130 interrupted.";

// The hidden ones (an empty group) only when asked for.
std::vector<std::string> verb_names(CLI::App& app, bool hidden) {
  std::vector<std::string> names;
  for (const CLI::App* verb : app.get_subcommands([](CLI::App*) { return true; })) {
    if (hidden || !verb->get_group().empty()) {
      names.push_back(verb->get_name());
    }
  }
  return names;
}

std::vector<std::string> flag_names(const CLI::App& verb) {
  std::vector<std::string> names;
  for (const CLI::Option* option : verb.get_options()) {
    for (const std::string& name : option->get_lnames()) {
      names.push_back("--" + name);
    }
  }
  return names;
}

std::string did_you_mean(std::string_view word, const std::vector<std::string>& known, const std::string& otherwise) {
  auto name = nearest_name(word, known);
  const auto begun =
      std::find_if(known.begin(), known.end(), [word](const std::string& n) { return n.starts_with(word); });
  if (begun != known.end()) {
    name = *begun;
  }
  return name ? "did you mean " + *name + "?" : otherwise;
}

// CLI11 would report an unknown verb only as a missing one.
void require_known_verb(CLI::App& app, const std::vector<std::string>& arguments) {
  const auto first =
      std::find_if(arguments.begin(), arguments.end(), [](const std::string& a) { return !a.starts_with("-"); });
  const std::vector<std::string> names = verb_names(app, true);
  if (first == arguments.end() || std::find(names.begin(), names.end(), *first) != names.end()) {
    return;
  }
  throw Error("no verb '" + *first + "'", "trainyard",
              did_you_mean(*first, verb_names(app, false), "see trainyard --help for the verbs"));
}

// The flag or word that nothing took.
[[noreturn]] void reject_extras(CLI::App& app, const CLI::ParseError& problem) {
  const auto chosen = app.get_subcommands();
  const CLI::App& verb = chosen.empty() ? app : *chosen.front();
  const std::string where = chosen.empty() ? "trainyard" : "trainyard " + verb.get_name();
  for (const std::string& extra : app.remaining(true)) {
    if (extra.starts_with("-")) {
      const std::string flag = extra.substr(0, extra.find('='));
      throw Error("no flag " + flag, where, did_you_mean(flag, flag_names(verb), "see " + where + " --help"));
    }
    throw Error("'" + extra + "' is one argument too many", where, "see " + where + " --help");
  }
  throw Error(problem.what(), where, "see " + where + " --help");
}

// CLI11 takes 2^64 for the largest number, -1 for a large one where no sign belongs, and 010 for eight.
template <class T>
std::string not_a_number(const std::string& text, const char* kind) {
  T value{};
  const char* end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data(), end, value);
  if (parsed.ec == std::errc() && parsed.ptr == end && std::isfinite(static_cast<double>(value))) {
    return {};
  }
  return "'" + text + "' is not " + kind;
}

// Also: an empty value is a variable that wasn't set, not "leave it out".
void check_values(CLI::App& app) {
  for (CLI::App* verb : app.get_subcommands([](CLI::App*) { return true; })) {
    for (CLI::Option* option : verb->get_options()) {
      const std::string type = option->get_type_name();
      if (type.starts_with("INT")) {
        option->check(
            [](const std::string& text) { return not_a_number<std::int64_t>(text, "a whole number of 64 bits"); });
      } else if (type.starts_with("UINT")) {
        option->check([](const std::string& text) {
          return not_a_number<std::uint64_t>(text, "a whole number from 0 on of 64 bits");
        });
      } else if (type.starts_with("FLOAT")) {
        option->check([](const std::string& text) { return not_a_number<double>(text, "a finite number"); });
      } else if (option->get_type_size_max() > 0) {
        option->check([](const std::string& text) { return std::string(text.empty() ? "is empty" : ""); });
      }
    }
  }
}

void declare_verbs(CLI::App& app, Session& session, Action& action) {
  const auto format = std::make_shared<HelpFormat>();
  format->label("Positionals", "Arguments");
  app.formatter(format);
  app.set_help_flag("-h,--help", "This text");
  app.footer(kFooter);
  app.require_subcommand(1);
  app.set_version_flag("--version", "trainyard " + std::string(tool_version()), "The version");
  add_doctor(app, session, action);
  add_calibrate(app, session, action);
  add_plan(app, session, action);
  add_simulate(app, session, action);
  add_run(app, session, action);
  add_reliability(app, session, action);
  add_compare(app, session, action);
  add_topology(app, session, action);
  add_validate(app, session, action);
  add_collect(app, session, action);
  add_trace(app, session, action);
  add_gui(app, session, action);
  add_collective(app, session, action);
  add_program(app, session, action);
  add_rank(app, session, action);
  check_values(app);
}

}  // namespace

CLI::App* add_verb(CLI::App& app, Session& session, const VerbText& text) {
  CLI::App* verb = app.add_subcommand(text.name, text.summary);
  verb->add_flag("--json", session.json, "One JSON object on standard output, messages on standard error");
  verb->group("Verbs");
  verb->footer("Example:\n" + std::string(text.example));
  verb->option_defaults()->always_capture_default();
  return verb;
}

CommandLine parse_command_line(int argc, char** argv, Session& session) {
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  session.json = std::find(arguments.begin(), arguments.end(), "--json") != arguments.end();
  CommandLine result;
  CLI::App app(kDescription, "trainyard");
  declare_verbs(app, session, result.action);
  if (arguments.empty()) {
    throw Error("no verb given", "trainyard", "one of: doctor, calibrate, plan, simulate, run, compare; or --help");
  }
  try {
    require_known_verb(app, arguments);
    app.parse(argc, argv);
  } catch (const CLI::Success& asked) {  // --help, --version
    app.exit(asked);
    return {};
  } catch (const CLI::ExtrasError& problem) {
    reject_extras(app, problem);
  } catch (const CLI::ParseError& problem) {
    if (app.remaining_size(true) > 0) {
      reject_extras(app, problem);
    }
    const auto chosen = app.get_subcommands();
    const std::string where = chosen.empty() ? "trainyard" : "trainyard " + chosen.front()->get_name();
    throw Error(problem.what(), where, "see " + where + " --help");
  }
  return result;
}

}  // namespace trainyard::cli
