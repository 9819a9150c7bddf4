// CurveGroupCost: collectives of a layout's groups from measured curves, by size and placement alone.
//
// A group on N nodes with m members on each is priced as nccl-tests would run it there, with NCCL's choice of
// algorithm, on the NICs that the groups beside it leave: a node's NICs / concurrent groups. Each (operation, group) is
// sampled once at half octaves from 1 KiB to 1 TiB and read by log-log interpolation, so that a search pays some tens
// of nanoseconds. Safe to share between threads.
// Source: collective_choice.h, curve_table.h (measured error there).
#pragma once

#include <array>
#include <memory>
#include <mutex>
#include <unordered_map>

#include "simulator/collective/collective_models.h"
#include "simulator/collective/collective_site.h"
#include "simulator/collective/group_cost.h"

namespace trainyard::simulator {

class CurveGroupCost final : public GroupCost {
 public:
  // `node`: a node of the machine and its NICs; nodes and ranks are the group's.
  CurveGroupCost(CollectiveSite node, CollectiveModels models);
  GroupTime time(CollectiveOp op, Bytes size, const GroupShape& group) const override;

 private:
  static constexpr int kSamples = 61;  // of log2 size, half octaves from 10
  struct Sampled {
    std::array<float, kSamples> time;  // log2 of seconds
    std::array<float, kSamples> low;
    std::array<float, kSamples> high;
  };
  Sampled sample(CollectiveOp op, const GroupShape& group) const;

  CollectiveSite node_;
  CollectiveModels models_;
  mutable std::mutex mutex_;
  mutable std::unordered_map<std::uint64_t, std::unique_ptr<const Sampled>> sampled_;
};

}  // namespace trainyard::simulator
