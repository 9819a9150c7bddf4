// What a GPU's fp8 products ask of a plan: sides that are multiples of 16 (kFp8Sides), since tensor cores take rows of
// whole 16 bytes and a step turns every matrix round. The CPU, which multiplies what fp8 holds in bf16, takes any.
#pragma once

#include "core/plan/plan.h"

namespace trainyard::executor {

// Before a rank is started: throws Error that names the first product of the plan's ranks with another side, its size
// and what to change. Of a layer three sides tell all of them: its tokens, outputs and inputs are the sides of the
// forward product and, in another order, of both backward ones. A plan that isn't in fp8 has none to refuse.
void require_fp8_sides(const Plan& plan);

}  // namespace trainyard::executor
