#include "simulator/planner/layout_pricer.h"

namespace trainyard::simulator {

namespace {

class StepModelPricer : public LayoutPricer {
 public:
  explicit StepModelPricer(const StepModel& model) : model_(model) {}
  StepPrice price(const Layout& layout) override { return model_.price(layout); }

 private:
  StepModel model_;
};

}  // namespace

PricerFactory step_model_pricers(const StepModel& model) {
  return [&model] { return std::make_unique<StepModelPricer>(model); };
}

}  // namespace trainyard::simulator
