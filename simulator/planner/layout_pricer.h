// LayoutPricer: what a search asks for a layout's step time. StepModel outside of tests.
#pragma once

#include <functional>
#include <memory>

#include "core/layout/layout.h"
#include "simulator/throughput/step_model.h"

namespace trainyard::simulator {

class LayoutPricer {
 public:
  virtual ~LayoutPricer() = default;
  virtual StepPrice price(const Layout& layout) = 0;
};

// One a thread.
using PricerFactory = std::function<std::unique_ptr<LayoutPricer>()>;

PricerFactory step_model_pricers(const StepModel& model);  // copies of it; the model outlives them

}  // namespace trainyard::simulator
