// RankFaults: carries out the injected faults that strike this rank.
#pragma once

#include <cstdint>

#include "executor/device/device.h"
#include "executor/run/injected_faults.h"
#include "executor/worker/worker.h"

namespace trainyard::executor {

class RankFaults {
 public:
  // References must outlive it.
  RankFaults(const InjectedFaults& faults, Worker& worker, Device& device, Rank rank);

  // Says on standard error what it does. A hang never returns.
  void before_step(std::int64_t step);

 private:
  void flip(const BitFlip& flip);

  const InjectedFaults& faults_;
  Worker& worker_;
  Device& device_;
  Rank rank_;
};

}  // namespace trainyard::executor
