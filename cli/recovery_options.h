// The flags that say when a run saves its state and how it goes on after failures. They end up in the plan.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/plan/plan.h"

namespace CLI {
class App;
}

namespace trainyard::cli {

struct RecoveryOptions {
  std::optional<std::int64_t> checkpoint_every;  // steps
  std::optional<std::int64_t> keep;
  bool synchronous = false;
  std::optional<std::int64_t> restart_limit;
  std::string hang_timeout;
  std::string heartbeat_timeout;
};

// Whether any of the flags was given; they say nothing without a plan to write.
bool asks_recovery(const RecoveryOptions& options);

void add_recovery_options(CLI::App& verb, RecoveryOptions& options);

// What was asked takes the place of what the plan has. Throws Error naming the flag whose value makes no sense.
void apply(const RecoveryOptions& options, Plan& plan);

}  // namespace trainyard::cli
