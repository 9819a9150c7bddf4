// What saves cost the steps beside them: a thread that writes a checkpoint takes cores and memory from them, and ranks
// that it slows unequally wait for each other between steps.
//
//   beside a save   the steps that begin before its save_time is over, counted by their own times
//   undisturbed     mean of the other steps
//   slowed          of a save: sum over the steps beside it of (their time - undisturbed) and of (the time between them
//                   - its mean between others), without the save's own blocking_time; below zero by noise
//
// Steps redone after a failure count by their last time. A save for which training waits has none beside it: what comes
// to its blocking_time is what else passes before the next step. Records without between_time have step times alone.
#pragma once

#include <vector>

#include "core/plan/run_record.h"

namespace trainyard {

struct StepsBesideSaves {
  Seconds undisturbed;          // of all steps, where every one is beside a save
  std::vector<Seconds> slowed;  // by save, in the record's order
};

// Of the steps that count. Cost: linear in steps and saves.
StepsBesideSaves steps_beside_saves(const RunRecord& record);

}  // namespace trainyard
