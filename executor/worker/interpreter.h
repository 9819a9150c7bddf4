// Interpreter: runs one rank's role of a program on a device and a communicator.
//
// Instructions are bound once: buffers to addresses, weights to places, groups to members. A step enqueues
// them in order, each on its stream; a wait for another stream's instruction becomes an event recorded after
// that instruction. Waits for an earlier step hold by themselves: a step ends with a synchronisation.
#pragma once

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

class Interpreter {
 public:
  // References must outlive it.
  Interpreter(const Plan& plan, const Program& program, Device& device, Communicator& communicator,
              const std::vector<std::byte*>& addresses, const Constants& constants, Fault fault);

  const Role& role() const { return role_; }

  // Enqueues a step. clocks: null, or one per instruction, alive until the device has been synchronised.
  void enqueue(const StepSettings& settings, std::vector<SliceClock>* clocks);

 private:
  Action bind(const BindingContext& context, const Plan& plan, const Instruction& instruction,
              const Constants& constants, Fault fault) const;
  Action bind_communication(const BindingContext& context, const Instruction& instruction) const;
  Action bind_collective(const BindingContext& context, const Instruction& instruction, std::byte* data) const;
  Action bind_transfer(const Instruction& instruction, std::byte* data) const;

  const Role& role_;
  Device& device_;
  Communicator& communicator_;
  std::vector<GroupHandle> groups_;  // by GroupId
  std::vector<Action> actions_;      // by instruction
  std::vector<std::string> labels_;  // by instruction, for profilers: "12 forward"
  std::vector<bool> awaited_;        // by instruction: another stream waits for it
};

}  // namespace trainyard::executor
