// Process baseline: what a rank's process holds besides its buffers.
//
//   baseline = resident peak over the steps of a real, tiny run - buffers allocated      (largest rank)
//
// Code, generated kernels, scratch memory, threads, connections, the program itself: things that hardly grow
// with the model. Seen on a run and not on the calibrating process, which touches other code.
#pragma once

#include <filesystem>

#include "core/units/count.h"
#include "executor/run/launch_run.h"

namespace trainyard::executor {

struct ProcessBaseline {
  ByteCount bytes;
  RunOutcome outcome;  // bytes mean nothing unless it is ok
};

// Trains for a few steps in a temporary folder, removed afterwards; well under a second.
ProcessBaseline measure_process_baseline(int ranks, int threads_per_rank, const std::filesystem::path& executable);

}  // namespace trainyard::executor
