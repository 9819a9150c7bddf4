// trainyard rank: one rank of a run or of a calibration. The launcher starts it; its arguments are between the
// two of them.
#include <fmt/core.h>

#include <CLI/CLI.hpp>

#include "cli/exit_code.h"
#include "cli/verbs.h"
#include "executor/calibration/launch_calibration.h"
#include "executor/communicator/peer_lost.h"
#include "executor/run/launch_run.h"

namespace trainyard::cli {

void add_rank(CLI::App& app, Session& session, Action& action) {
  (void)session;
  CLI::App* verb = app.add_subcommand("rank", "One rank, started by the launcher");
  verb->group("");  // not in the help
  verb->prefix_command();
  verb->callback([verb, &action] {
    action = [arguments = verb->remaining()](const Session&) {
      const bool calibrates = !arguments.empty() && arguments.front() == executor::kCalibrateArgument;
      try {
        calibrates ? executor::calibration_rank_main(arguments) : executor::rank_main(arguments);
      } catch (const executor::PeerLost& lost) {
        fmt::print(stderr, "trainyard: {}\n", lost.what());
        return executor::kPeerLostExit;
      }
      return static_cast<int>(kOk);
    };
  });
}

}  // namespace trainyard::cli
