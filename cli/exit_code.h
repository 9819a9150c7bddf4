// What the process's exit code says. Scripts may rely on these.
#pragma once

namespace trainyard::cli {

enum ExitCode : int {
  kOk = 0,
  kFailedRun = 1,     // the run started and failed: a rank died, a kernel threw
  kUserError = 2,     // an Error: a flag, a file, a layout that a person can put right
  kInterrupted = 130  // Ctrl-C or SIGTERM, as shells report it
};

}  // namespace trainyard::cli
