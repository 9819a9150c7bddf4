#include "simulator/planner/layout_pricer.h"

#include <cmath>

namespace trainyard::simulator {

namespace {

class StepModelPricer : public LayoutPricer {
 public:
  explicit StepModelPricer(const StepModel& model) : model_(model) {}
  StepPrice price(const Layout& layout) override {
    StepPrice price = model_.price(layout);
    if (unmeasured(layout.schedule)) {
      const double spread = std::pow(price.high / price.step_time, kUnmeasuredBand);
      price.low = price.step_time / spread;
      price.high = spread * price.step_time;
    }
    return price;
  }

 private:
  StepModel model_;
};

}  // namespace

bool unmeasured(ScheduleKind schedule) {
  switch (schedule) {
    case ScheduleKind::kZeroBubbleH1:
    case ScheduleKind::kZeroBubbleH2:
    case ScheduleKind::kZeroBubbleV:
    case ScheduleKind::kDualPipe:
      return true;
    default:
      return false;
  }
}

PricerFactory step_model_pricers(const StepModel& model) {
  return [&model] { return std::make_unique<StepModelPricer>(model); };
}

}  // namespace trainyard::simulator
