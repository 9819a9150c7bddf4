// What a plan's checkpoint holds, how long it takes, and where else the state is.
//
//   a parameter's state   itself in parameter_type, an fp32 master where that is narrower, the optimizer's moments:
//                         14 B under bf16 and AdamW (2 + 4 + 4 + 4), 12 B under fp32
//   a rank holds          its slice by tp, pp and ep (ShardSpec), of that what ZeRO leaves it
//   a rank saves          its share of what it holds with others: each value is saved once, by all its holders in equal
//                         parts (as PyTorch DCP does)
//
//   snapshot  planning + saved bytes / host link             training stands still
//   write     max(state / storage, saved of a node / node's front-end NICs)
//   load      max(state / storage, saved of a node / NICs) + held / host link: each value is read once and passed on to
//             its other holders over the back-end network (MegaScale, NSDI 2024). If every holder reads: held of all
//             ranks / storage
//
// No padding is counted. Copies: two ranks that hold the same bytes; of the optimizer's state, since parameters alone
// don't continue a run.
#pragma once

#include <cstdint>
#include <vector>

#include "core/layout/layout.h"
#include "core/model/model_spec.h"
#include "core/plan/accelerator.h"
#include "core/plan/training.h"
#include "core/units/quantity.h"
#include "simulator/failure/failure_profile.h"
#include "simulator/failure/fault_domains.h"
#include "simulator/failure/ranged.h"

namespace trainyard::simulator {

struct CheckpointSize {
  double bytes_per_parameter = 0.0;
  Bytes state;         // each value once
  Bytes largest_held;  // of one rank
  Bytes largest_saved;
  Bytes held;  // of all ranks together
  // Of the rank that holds most: what is saved of it, and its gradients, which aren't.
  Bytes weights;
  Bytes optimizer;
  Bytes gradients;
};

// Throws Error for a layout that doesn't divide the model, as Mesh and tensor_sharding do.
CheckpointSize checkpoint_size(const ModelSpec& model, const Layout& layout, OptimizerKind optimizer);

struct CheckpointTimes {
  Ranged<Seconds> blocking;
  Ranged<Seconds> write;
  Ranged<Seconds> load_storage;
  Ranged<Seconds> load_storage_everyone;  // if every holder read for itself
  Ranged<Seconds> load_memory;            // a lost node's shards from a peer's host memory
};

// network: of a rank, to other nodes.
CheckpointTimes checkpoint_times(const CheckpointSize& size, const FaultDomains& domains,
                                 const PublishedStorage& storage, const FrontEnd& front_end,
                                 const Accelerator* accelerator, BytesPerSecond network);

// Copies of the state on the job's devices, and after which failures one is left.
class StateCopies {
 public:
  StateCopies(const ModelSpec& model, const Layout& layout, const FaultDomains& domains);

  int on_devices() const { return copies_; }  // 1: no rank's state is on another
  // Share of the failures of this kind after which each lost shard is on a device of another node.
  double devices_left(FaultDomain domain) const;
  // ... in the host memory of another node, where node i's snapshot also lies in node i + n/2 (modulo n), far from it.
  double peers_left(FaultDomain domain) const;

 private:
  template <class Left>
  double share_of(FaultDomain domain, const Left& left) const;
  bool devices_left(std::span<const std::int32_t> nodes) const;
  bool peers_left(std::span<const std::int32_t> nodes) const;

  const FaultDomains& domains_;
  int copies_ = 1;
  // Holders of a shard, by shard: nodes; and the shards of a node's ranks. For dense parameters and for experts.
  std::vector<std::vector<std::int32_t>> holders_;
  std::vector<std::vector<std::int32_t>> shards_;
};

}  // namespace trainyard::simulator
