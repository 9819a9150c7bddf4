// The step simulator: interprets a program on its streams, event by event, in integer nanoseconds.
//
//   - Work on one stream runs in the order of the list. An instruction starts when its predecessor on the
//     stream has ended and, `stream_handover` after their ends, the other streams' instructions it waits for.
//   - A communication is posted when it starts and moves data once every member has posted (rendezvous.h);
//     it ends when every member has moved its part. A send ends with its receive.
//   - While a rank computes and moves data at once, compute runs at 1/compute and the movement at
//     1/communication of its rate (OverlapSlowdown; the worst of the groups at work). Rates change as work
//     starts and ends; waiting for a peer slows nothing.
//   - Communications of one rank don't slow each other, and waits for an earlier step are taken as met: the
//     step starts on an idle machine.
//
// One representative rank stands for each role. The same inputs give the same trace, bit for bit.
// Cost: O(instructions x log(roles x streams)).
#pragma once

#include <vector>

#include "core/plan/trace.h"
#include "core/program/program.h"
#include "core/units/quantity.h"
#include "simulator/step/role_times.h"
#include "simulator/step/step_costs.h"

namespace trainyard::simulator {

struct StepResult {
  Nanoseconds duration = 0;
  std::vector<RoleTimes> roles;
  Trace trace;  // a rank per role; slices empty unless asked for
};

enum class TraceDetail : std::uint8_t { kNone, kSlices };

// A program that cannot finish is a bug in its generation: check() names the instructions that wait.
StepResult simulate_step(const Program& program, const StepCosts& costs, TraceDetail detail = TraceDetail::kSlices);

}  // namespace trainyard::simulator
