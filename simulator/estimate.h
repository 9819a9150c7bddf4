// Estimate: what the simulator says of one layout. The alternative is Infeasible, with its reason.
#pragma once

#include <variant>

#include "core/layout/layout.h"
#include "core/plan/infeasible.h"
#include "core/units/count.h"
#include "core/units/quantity.h"

namespace trainyard::simulator {

// Where the step's time goes, on the stage that decides it. The parts sum to the step time.
struct StepParts {
  Seconds compute;           // segments
  Seconds tensor_exposed;    // tensor-parallel communication that compute waits for
  Seconds pipeline;          // bubble, transfers, waiting for other stages
  Seconds gradient_exposed;  // data-parallel reduction that the backward pass doesn't hide
  Seconds update;            // norm, optimizer, gathering updated parameters
};

enum class EstimateMethod { kClosedForm, kInstructions };

struct Estimate {
  Layout layout;
  EstimateMethod method = EstimateMethod::kClosedForm;
  Seconds step_time;
  double tokens_per_second = 0.0;
  double mfu = 0.0;       // model FLOPs (causal attention) over the peak of the compute type
  ByteCount memory_peak;  // of the worst rank; closed form: near it, without fragmentation
  int memory_stage = 0;   // where that is
  StepParts parts;        // closed form only; instruction by instruction see StepResult::roles
};

using Outcome = std::variant<Estimate, Infeasible>;

}  // namespace trainyard::simulator
