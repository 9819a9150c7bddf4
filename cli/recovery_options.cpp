#include "cli/recovery_options.h"

#include <CLI/CLI.hpp>

#include "core/error.h"
#include "core/units/parse_quantity.h"

namespace trainyard::cli {

namespace {

std::int64_t at_least(std::int64_t least, std::int64_t value, const char* flag) {
  if (value < least) {
    throw Error("must be at least " + std::to_string(least), flag, "see trainyard plan --help");
  }
  return value;
}

}  // namespace

void add_recovery_options(CLI::App& verb, RecoveryOptions& options) {
  const char* what = "Checkpoints and failures";
  verb.add_option("--checkpoint-every", options.checkpoint_every, "Save what training goes on from every N steps")
      ->type_name("N")
      ->group(what);
  verb.add_option("--keep", options.keep, "Complete checkpoints that stay on the disk (default 2)")
      ->type_name("N")
      ->group(what);
  verb.add_flag("--synchronous-saves", options.synchronous, "Training waits until a checkpoint is complete")
      ->group(what);
  verb.add_option("--restart-limit", options.restart_limit,
                  "Restarts from the last checkpoint; the failure after them ends the run (default 10)")
      ->type_name("N")
      ->group(what);
  verb.add_option("--hang-timeout", options.hang_timeout,
                  "A rank that makes no progress for so long has failed (default 600 s)")
      ->type_name("TIME")
      ->group(what);
  verb.add_option("--heartbeat-timeout", options.heartbeat_timeout,
                  "... whose process gives no sign of life (default 30 s)")
      ->type_name("TIME")
      ->group(what);
}

bool asks_recovery(const RecoveryOptions& options) {
  return options.checkpoint_every || options.keep || options.synchronous || options.restart_limit ||
         !options.hang_timeout.empty() || !options.heartbeat_timeout.empty();
}

void apply(const RecoveryOptions& options, Plan& plan) {
  if (options.checkpoint_every) {
    plan.checkpoint.every_steps = at_least(1, *options.checkpoint_every, "--checkpoint-every");
  }
  if (options.keep) {
    plan.checkpoint.keep = at_least(1, *options.keep, "--keep");
  }
  if (options.synchronous) {
    plan.checkpoint.asynchronous = false;
  }
  if (options.restart_limit) {
    plan.recovery.restart_limit = at_least(0, *options.restart_limit, "--restart-limit");
  }
  if (!options.hang_timeout.empty()) {
    plan.recovery.hang_timeout = parse_quantity<Seconds>(options.hang_timeout, "--hang-timeout");
  }
  if (!options.heartbeat_timeout.empty()) {
    plan.recovery.heartbeat_timeout = parse_quantity<Seconds>(options.heartbeat_timeout, "--heartbeat-timeout");
  }
}

}  // namespace trainyard::cli
