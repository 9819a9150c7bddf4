#include "simulator/planner/program_fit.h"

#include "core/error.h"
#include "simulator/memory/outline_memory.h"

namespace trainyard::simulator {

ProgramFit program_fit(const Plan& plan, const DeviceProfile& profile) {
  ProgramFit fit;
  try {
    const ProgramOutline program = outline(plan);
    fit.total = worst(outline_memory(program, profile)).total;
    fit.lacks = exceeds_memory(program, profile);
  } catch (const Error& error) {  // a layout that programs don't express
    fit.not_expressed = error.what();
  }
  return fit;
}

}  // namespace trainyard::simulator
