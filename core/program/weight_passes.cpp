#include "core/program/weight_passes.h"

namespace trainyard {

void WeightPasses::add(const Place& place, std::function<void()> pass) {
  if (apart_) {
    kept_[{place.microbatch, place.chunk}].push_back(std::move(pass));
  } else {
    pass();
  }
}

void WeightPasses::run(int microbatch, int chunk) {
  const auto kept = kept_.find({microbatch, chunk});
  if (kept == kept_.end()) {
    return;
  }
  const std::vector<std::function<void()>> passes = std::move(kept->second);
  kept_.erase(kept);
  for (const std::function<void()>& pass : passes) {
    pass();
  }
}

}  // namespace trainyard
