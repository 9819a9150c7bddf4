// CollectiveTimer: times collectives on the ranks of a running job.
//
//   time of one run = (last member's completion) - (last member's start),  the slowest group's
//   result          = the median over repeats
//
// Clocks are the device's, which ranks of one host share; across hosts they are not comparable, and a
// duration would be off by the clocks' difference. All ranks call time() alike; all get the same result.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "core/plan/device_profile.h"
#include "executor/communicator/communicator.h"
#include "executor/device/device.h"

namespace trainyard::executor {

// The ranks [k g, (k + 1) g) form group k; those left over are idle.
struct GroupPartition {
  int group_size = 2;
  int groups = 1;
  int own = 0;  // this rank's group; `groups` if it is idle
  GroupHandle handle;
};
GroupPartition partition(const Communicator& communicator, int group_size);

class CollectiveTimer {
 public:
  // Buffers for tensors up to `largest`.
  CollectiveTimer(Device& device, Communicator& communicator, ByteCount largest);
  ~CollectiveTimer();
  CollectiveTimer(const CollectiveTimer&) = delete;
  CollectiveTimer& operator=(const CollectiveTimer&) = delete;

  // All groups of `group_size` ranks run the collective at once, as fp32. sample.time is ignored.
  Seconds time(const CollectiveSample& sample, int repeats);

  // The same for anything that `post` puts on the stream, as one group of all ranks.
  Seconds time(Stream stream, int repeats, const std::function<void()>& post);

  void post(Stream stream, const GroupHandle& group, const CollectiveSample& sample);
  // Element-wise maxima over all ranks.
  void maximize(std::vector<std::int64_t>& values);

 private:
  Seconds time_groups(Stream stream, const GroupPartition& groups, int repeats, const std::function<void()>& post);
  void post_all_to_all(Stream stream, const GroupHandle& group, const std::vector<std::int64_t>& cuts);
  void post_send(Stream stream, const GroupHandle& group, ByteCount bytes);

  Device& device_;
  Communicator& communicator_;
  GroupHandle world_;
  void* in_ = nullptr;
  void* out_ = nullptr;
  std::uint64_t next_tag_ = 0;
};

}  // namespace trainyard::executor
