// The largest of a few numbers over all ranks, exchanged between steps and outside the program's volumes.
#pragma once

#include <cstdint>
#include <span>

#include "core/program/program.h"
#include "executor/communicator/communicator.h"
#include "executor/device/device.h"

namespace trainyard::executor {

class RankStatistics {
 public:
  static constexpr std::int64_t kNumbers = 3;

  RankStatistics(Device& device, Communicator& communicator);
  ~RankStatistics();
  RankStatistics(const RankStatistics&) = delete;
  RankStatistics& operator=(const RankStatistics&) = delete;

  // In place; all ranks call it together.
  void maximum(std::span<std::int64_t, kNumbers> numbers);

 private:
  Device& device_;
  Communicator& communicator_;
  GroupHandle world_;
  void* memory_ = nullptr;
};

}  // namespace trainyard::executor
