// Interpreter: runs one rank's role of a program on a device and a communicator.
//
// Instructions are bound once: buffers to addresses, weights to places, groups to members. A step enqueues
// them in order, each on its stream; a wait for another stream's instruction becomes an event recorded after
// that instruction. Waits for an earlier step hold by themselves: a step ends with a synchronisation.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/plan/plan.h"
#include "core/program/program.h"
#include "executor/communicator/communicator.h"
#include "executor/device/device.h"
#include "executor/worker/device_constants.h"
#include "executor/worker/fault.h"
#include "executor/worker/segment_binding.h"
#include "executor/worker/step_settings.h"

namespace trainyard::executor {

// How many instructions, from the first, every step repeats with the same arguments: those before the first that
// communicates (a communicator follows its operations one by one) or that depends on the step (the update). 0 where
// they are too few to be worth it. What follows waits for all of them.
std::size_t repeated_part(const Role& role);

class Interpreter {
 public:
  // References must outlive it.
  Interpreter(const Plan& plan, const Program& program, Device& device, Communicator& communicator,
              const std::vector<std::byte*>& addresses, const Constants& constants, Fault fault);

  const Role& role() const { return role_; }

  // From now on the device is asked to capture what every step repeats (Device::capture), in the second step that it
  // could be enqueued from: the first gives kernels their scratch memory. A step with another loss scale begins anew.
  void capture_repeated();
  bool captured() const { return captured_ != nullptr; }

  // Enqueues a step; whether its repeated part was captured work. clocks: null, or one per instruction, alive until the
  // device has been synchronised: then nothing is replayed.
  bool enqueue(const StepSettings& settings, std::vector<SliceClock>* clocks);

 private:
  Action bind(const BindingContext& context, const Plan& plan, const Instruction& instruction,
              const Constants& constants, Fault fault) const;
  Action bind_communication(const BindingContext& context, const Instruction& instruction) const;
  Action bind_collective(const BindingContext& context, const Instruction& instruction, std::byte* data) const;
  Action bind_transfer(const Instruction& instruction, std::byte* data) const;

  void enqueue_part(std::size_t begin, std::size_t end, const StepSettings& settings, std::vector<SliceClock>* clocks,
                    std::vector<EventHandle>& events);
  bool try_capture(const StepSettings& settings);

  const Role& role_;
  Device& device_;
  Communicator& communicator_;
  std::vector<GroupHandle> groups_;  // by GroupId
  std::vector<Action> actions_;      // by instruction
  std::vector<std::string> labels_;  // by instruction, for profilers: "12 forward"
  std::vector<bool> awaited_;        // by instruction: another stream waits for it
  std::size_t repeated_ = 0;         // instructions to capture; 0: none
  std::optional<float> warmed_;      // the loss scale that a step has been enqueued with, which is captured too
  std::unique_ptr<CapturedWork> captured_;
};

}  // namespace trainyard::executor
