// Session: what every verb needs to know about how it was called and where it prints.
//
// Tables and --json objects go to standard output; messages, progress and errors to standard error.
#pragma once

#include <filesystem>
#include <functional>

#include "cli/text/style.h"

namespace trainyard::cli {

struct Session {
  bool json = false;                 // one documented object on standard output
  std::filesystem::path executable;  // this program, which the launcher starts again for each rank
  Style out;                         // of standard output
  Style err;                         // of standard error
};

// What the parsed command line asks for. Returns an exit code; throws Error for what a person can put right.
using Action = std::function<int(const Session&)>;

}  // namespace trainyard::cli
