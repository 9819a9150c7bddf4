// LayoutPricer: what a search asks for a layout's step time. StepModel outside of tests.
#pragma once

#include <functional>
#include <memory>

#include "core/layout/layout.h"
#include "simulator/throughput/step_model.h"

namespace trainyard::simulator {

// Whether no fitted profile of models/stacks has a run under this schedule. Its 80 % interval is kUnmeasuredBand times
// as wide: step time e^(+- kUnmeasuredBand band).
bool unmeasured(ScheduleKind schedule);
constexpr double kUnmeasuredBand = 1.5;

class LayoutPricer {
 public:
  virtual ~LayoutPricer() = default;
  virtual StepPrice price(const Layout& layout) = 0;
};

// One a thread.
using PricerFactory = std::function<std::unique_ptr<LayoutPricer>()>;

PricerFactory step_model_pricers(const StepModel& model);  // copies of it; the model outlives them

}  // namespace trainyard::simulator
