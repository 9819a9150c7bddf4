#include "simulator/planner/fed_pricer.h"

#include <memory>
#include <utility>

namespace trainyard::simulator {

namespace {

class FedPricer : public LayoutPricer {
 public:
  FedPricer(std::unique_ptr<LayoutPricer> priced, const InputFeed& feed) : priced_(std::move(priced)), feed_(feed) {}

  StepPrice price(const Layout& layout) override {
    StepPrice step = priced_->price(layout);
    const Seconds stall = input_stall(feed_, layout, step.step_time);
    step.losses[static_cast<std::size_t>(StepLoss::kInput)] += stall;
    step.step_time += stall;
    step.low += input_stall(feed_, layout, step.low);
    step.high += input_stall(feed_, layout, step.high);
    return step;
  }

 private:
  std::unique_ptr<LayoutPricer> priced_;
  InputFeed feed_;
};

}  // namespace

MachinePricers fed(MachinePricers machines, const InputFeed& feed) {
  return [machines = std::move(machines), feed](const Workload& workload, const Machine& machine) -> PricerFactory {
    return [priced = machines(workload, machine), feed] { return std::make_unique<FedPricer>(priced(), feed); };
  };
}

}  // namespace trainyard::simulator
