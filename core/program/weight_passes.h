// WeightPasses: weight gradients, made at once or kept until their own slot of the schedule.
#pragma once

#include <functional>
#include <map>
#include <utility>
#include <vector>

#include "core/program/stage_context.h"

namespace trainyard {

class WeightPasses {
 public:
  explicit WeightPasses(bool apart) : apart_(apart) {}
  bool apart() const { return apart_; }
  void add(const Place& place, std::function<void()> pass);
  void run(int microbatch, int chunk);

 private:
  bool apart_;
  std::map<std::pair<int, int>, std::vector<std::function<void()>>> kept_;
};

}  // namespace trainyard
