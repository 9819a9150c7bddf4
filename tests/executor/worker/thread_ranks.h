// Runs a plan with its ranks as threads of this process, each with a device and a communicator of its own
// over loopback: the same code as a run of processes, with everything in reach of the test.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/plan/plan.h"
#include "executor/data/step_tokens.h"
#include "executor/device/cpu_device.h"
#include "executor/worker/worker.h"
#include "tests/executor/worker/tensor_comparison.h"

namespace trainyard::executor {

struct RankResult {
  std::vector<double> losses;           // by step
  std::vector<double> gradient_norms;   // by step
  std::vector<double> loss_scales;      // by step, of fp16
  std::vector<TensorSlice> gradients;   // of the first step
  std::vector<TensorSlice> parameters;  // after the last
  std::vector<Volumes> counted;         // by step
  Volumes planned;
  ByteCount allocated;
  ByteCount planned_bytes;
  bool replays = false;   // the repeated part of some step was captured work
  double evaluation = 0;  // mean loss of step 0's tokens after the last step
};

// Synthetic text that a small model can learn something from.
std::vector<std::uint8_t> sample_text(std::size_t bytes);

struct ThreadRunOptions {
  Fault fault = Fault::kNone;
  int threads_per_rank = 1;
  std::optional<std::filesystem::path> save_to;  // the model after the last step
  bool nccl = false;                             // NCCL's communicator over a fake NCCL, instead of Gloo's
  bool captures = false;                         // what every step repeats is captured once
  // Another device than the CPU's, to which its options go as far as it has them.
  std::function<std::unique_ptr<Device>(CpuDeviceOptions)> make_device = make_cpu_device;
};

// Throws what a rank threw.
std::vector<RankResult> run_as_threads(const Plan& plan, std::int64_t steps, const ThreadRunOptions& options = {});

// What the ranks hold together.
WholeTensors whole_gradients(const std::vector<RankResult>& ranks);
WholeTensors whole_parameters(const std::vector<RankResult>& ranks);

// The weights' file that the plan's ranks save before any step.
std::string saved_weights(const Plan& plan);

}  // namespace trainyard::executor
