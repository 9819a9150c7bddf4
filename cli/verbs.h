// The verbs of `trainyard`, one file each. add_X() declares the verb's flags and sets `action` when it was
// the one given.
#pragma once

#include "cli/session.h"

namespace CLI {
class App;
}

namespace trainyard::cli {

void add_doctor(CLI::App& app, Session& session, Action& action);
void add_calibrate(CLI::App& app, Session& session, Action& action);
void add_plan(CLI::App& app, Session& session, Action& action);
void add_simulate(CLI::App& app, Session& session, Action& action);
void add_run(CLI::App& app, Session& session, Action& action);
void add_reliability(CLI::App& app, Session& session, Action& action);
void add_compare(CLI::App& app, Session& session, Action& action);
void add_topology(CLI::App& app, Session& session, Action& action);
void add_validate(CLI::App& app, Session& session, Action& action);
void add_collect(CLI::App& app, Session& session, Action& action);
void add_trace(CLI::App& app, Session& session, Action& action);
void add_collective(CLI::App& app, Session& session, Action& action);
void add_program(CLI::App& app, Session& session, Action& action);
void add_rank(CLI::App& app, Session& session, Action& action);  // hidden: what the launcher starts

// Shared by the verbs: a subcommand with --json and --help, whose help ends with an example.
struct VerbText {
  const char* name;
  const char* summary;
  const char* example;
};
CLI::App* add_verb(CLI::App& app, Session& session, const VerbText& text);

}  // namespace trainyard::cli
