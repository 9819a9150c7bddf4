#include "executor/run/replay_count.h"

namespace trainyard::executor {

void ReplayCount::add(bool traced, bool replayed, std::optional<double> loss_scale) {
  ++steps_;
  replayed_ += replayed ? 1 : 0;
  if (traced) {
    return;
  }
  could_replay_ = could_replay_ || (untraced_ > 0 && scale_ == loss_scale);
  ++untraced_;
  scale_ = loss_scale;
}

std::optional<std::string> ReplayCount::why_none(std::size_t repeated) const {
  if (replayed_ > 0 || steps_ == 0) {
    return std::nullopt;
  }
  if (repeated == 0) {
    return "too little of a step comes before its first message or update";
  }
  if (untraced_ < 2) {
    return "it takes two steps that are not traced";
  }
  return could_replay_ ? "the device can't keep a call of it"
                       : "each step had another loss scale than the one before it";
}

}  // namespace trainyard::executor
