// GradientUpdate: what happens to gradients once backward has made them: reduction over data parallelism, the
// global norm, the optimizer, on the device or the host, and the gathering of parameters that ZeRO has updated in
// shards.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "core/program/stage_context.h"
#include "core/schedule/schedule.h"

namespace trainyard {

class GradientUpdate {
 public:
  // slots: of the step, in which each backward finishes its chunk's tensors once.
  GradientUpdate(StageContext& stage, const std::vector<Slot>& slots);

  // A micro-batch's backward has passed these tensors. After the last micro-batch's they are complete; a
  // bucket that is, is reduced at once where the layout overlaps reduction with backward.
  void finish_tensors(const Slot& slot, const std::vector<ParameterKind>& kinds, std::optional<int> layer);
  // After the last backward.
  void update();
  // The loss and the norm, over all ranks.
  void reduce_sums();

 private:
  // Counts a pass of these tensors; whether it is the step's last.
  bool is_last_pass(int chunk, std::optional<int> layer, ParameterKind kind);
  void reduce_bucket(const Bucket& bucket);
  void scatter_bucket(const Bucket& bucket, const Slot& slot, bool last);
  void reduce_replicas(const Bucket& bucket);
  void reduce_copies();
  void copies_collective(const Bucket& bucket, std::int64_t elements);
  Communication collective(CommunicationKind kind, const Bucket& bucket, DataType type) const;
  void data_collective(InstructionKind instruction, CommunicationKind kind, const Bucket& bucket, BufferId buffer,
                       DataType type);
  void reduce_norm_weights();
  Elementwise update_pass(const Bucket& bucket) const;
  void optimize(const Bucket& bucket);
  // host_update.h. Returns each bucket's copy.
  std::vector<InstructionId> copy_gradients_down();
  void update_on_host(const Bucket& bucket, InstructionId gradients);

  struct TensorPass {
    int chunk, layer, kind;
    friend auto operator<=>(const TensorPass&, const TensorPass&) = default;
  };
  // Whole gradients that a pass has scattered last.
  struct OnTheWay {
    int microbatch = -1;
    int chunk = 0;
    BufferId gradients;
  };
  StageContext& stage_;
  std::array<OnTheWay, 2> on_the_way_;                  // of dense parameters, of experts'
  std::vector<std::int64_t> passes_;                    // micro-batches that pass through a local chunk
  std::map<TensorPass, std::int64_t> finished_passes_;  // micro-batches done
  std::map<std::size_t, std::int64_t> complete_;        // tensors complete, by bucket
  std::vector<BufferId> after_;  // what reductions wait for besides their own gradients, without overlap
};

}  // namespace trainyard
