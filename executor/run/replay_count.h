// ReplayCount: how many of a rank's steps were replayed (`run --graphs`, worker/interpreter.h), and if none was, why.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace trainyard::executor {

class ReplayCount {
 public:
  // A training step that has ended. loss_scale: of fp16; nothing: there is none, so that it never changes.
  void add(bool traced, bool replayed, std::optional<double> loss_scale);

  std::int64_t replayed() const { return replayed_; }

  // Of a run that asked for it, whose speed without would be taken for its speed with. repeated: the instructions that
  // every step repeats (repeated_part). Nothing: some step was replayed, or there was no step.
  std::optional<std::string> why_none(std::size_t repeated) const;

 private:
  std::int64_t steps_ = 0;
  std::int64_t untraced_ = 0;
  std::int64_t replayed_ = 0;
  std::optional<double> scale_;  // of the last untraced step
  bool could_replay_ = false;    // an untraced step had the scale of the one before it
};

}  // namespace trainyard::executor
