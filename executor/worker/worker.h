// Worker: one rank of a run. Owns the rank's memory and runs training and evaluation steps of a plan.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "core/plan/plan.h"
#include "core/program/program.h"
#include "executor/communicator/communicator.h"
#include "executor/data/step_tokens.h"
#include "executor/device/device.h"
#include "executor/worker/fault.h"
#include "executor/worker/loss_scale.h"
#include "executor/worker/state_slice.h"
#include "executor/worker/step_settings.h"
#include "executor/worker/tensor_slice.h"

namespace trainyard::executor {

struct WorkerOptions {
  Fault fault = Fault::kNone;  // for tests only
  bool captures = false;       // what repeats in every step is captured once, where the device can (interpreter.h)
};

struct StepResult {
  double loss = 0;           // mean over the step's tokens of all ranks, nats
  double gradient_norm = 0;  // global, before clipping
  double learning_rate = 0;
  Nanoseconds duration = 0;          // on this rank, from first enqueue to the last instruction's end
  std::vector<SliceClock> clocks;    // by instruction, when asked for
  Volumes counted;                   // at the matmul and at the posted send
  bool replayed = false;             // its repeated part was captured work
  std::optional<double> loss_scale;  // of fp16
  bool skipped = false;              // fp16: gradients overflowed, nothing was updated
};

class Worker {
 public:
  // Every rank of the plan makes one with its own device and communicator; both must outlive it.
  Worker(Plan plan, Device& device, Communicator& communicator, WorkerOptions options = {});
  ~Worker();
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  const Plan& plan() const { return plan_; }
  const Program& program() const { return program_; }
  const Role& role() const;
  const Coordinates& coordinates() const { return coordinates_; }
  ByteCount buffers_allocated() const;
  bool replays() const;  // training steps enqueue captured work

  void set_parameters(const WeightSource& source);

  // A training step; `step` from 0. All ranks call it with the same step and trace flag. Of fp16, throws Error where
  // gradients overflow even unscaled.
  StepResult train(std::int64_t step, const StepTokens& tokens, bool trace = false);
  // Mean loss of the same number of tokens as a step's, in nats; nothing is updated.
  double evaluate(const StepTokens& tokens);

  // After evaluate(): this rank's logits [t, v] of the last micro-batch; empty on stages without the head.
  std::vector<float> evaluated_logits();

  // This rank's slices. Gradients: as reduced in the last step, before clipping; under ZeRO this rank's share.
  std::vector<TensorSlice> parameters();
  std::vector<TensorSlice> gradients();

  // What a checkpoint keeps of this rank, as addresses of the device. Between steps only.
  std::vector<StateSlice> state() const;
  std::optional<LossScaleState> loss_scale() const;  // of fp16, as state() the same on all ranks
  void set_loss_scale(const LossScaleState& state);

 private:
  struct Bound;  // a program bound to memory
  StepResult run(Bound& bound, const StepSettings& settings, const StepTokens& tokens, bool trace);
  void fill_tokens(const Bound& bound, const StepTokens& tokens);
  std::vector<TensorSlice> slices(bool gradients);
  double tokens_per_step() const;
  IndexRange owned(const Bucket& bucket) const;  // this rank's share of it

  Plan plan_;
  Device& device_;
  Communicator& communicator_;
  WorkerOptions options_;
  std::optional<LossScale> loss_scale_;  // fp16
  double gradient_scale_ = 1;            // of the gradients in memory
  Program program_;
  Coordinates coordinates_;
  std::unique_ptr<class RankMemory> memory_;
  std::unique_ptr<class DeviceConstants> constants_;
  std::unique_ptr<Bound> training_;
  std::unique_ptr<Program> evaluation_program_;
  std::unique_ptr<Bound> evaluation_;  // made when first asked for
};

}  // namespace trainyard::executor
