// StepModel: the time of a training step in closed form, for any layout, in microseconds of our own time.
//
// What a search prices a hundred thousand times a second. Costs of a layer depend on few of a layout's fields; they
// are kept by those fields, so that a layout costs a lookup and the pipeline's arithmetic. Equations, constants and
// measured errors: docs/cost_model.md.
//
// A model is for one network, sequence, batch and machine. price() writes its cache: one StepModel a thread (copies
// are cheap at first and fill their own).
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "core/layout/layout.h"
#include "core/model/model_spec.h"
#include "core/units/quantity.h"
#include "simulator/collective/group_cost.h"
#include "simulator/throughput/machine.h"
#include "simulator/throughput/step_loss.h"

namespace trainyard::simulator {

struct StepPrice {
  Seconds step_time;  // the sum of losses
  StepLosses losses{};
  Seconds low;  // 80 % interval
  Seconds high;
  int slowest_stage = 0;
};

struct Workload {
  ModelSpec model;
  std::int64_t sequence = 0;
  std::int64_t global_batch = 0;  // sequences a step
};

class StepModel {
 public:
  // groups prices communication and must outlive the model.
  StepModel(Workload workload, Machine machine, std::shared_ptr<const GroupCost> groups);
  ~StepModel();
  StepModel(const StepModel& other);  // shares nothing that price() writes
  StepModel& operator=(const StepModel&) = delete;

  // The layout's degrees divide what they cut (why_impossible() says so first); memory isn't looked at.
  StepPrice price(const Layout& layout);

  // Other software on the same machine; what was kept is forgotten.
  void use_stack(const StackProfile& stack);

  const Workload& workload() const;
  const Machine& machine() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace trainyard::simulator
