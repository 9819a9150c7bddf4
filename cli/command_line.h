// The command line: verbs, their flags and help.
//
// Each verb has a file that adds it (verbs.h) and sets the action to take once everything has parsed. CLI11
// does the parsing; its complaints come out as Error, with the nearest known verb or flag as the hint.
#pragma once

#include <optional>

#include "cli/session.h"

namespace trainyard::cli {

struct CommandLine {
  Action action;  // unset: help or the version was asked for and has been printed
};

// Fills in session.json before anything can fail, so that errors come out in the form asked for.
// Throws Error for an unknown verb or flag, a missing or a malformed value.
CommandLine parse_command_line(int argc, char** argv, Session& session);

}  // namespace trainyard::cli
