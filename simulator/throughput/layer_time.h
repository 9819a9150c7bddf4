// The time of one layer on one rank, per micro-batch, opened by where it goes.
//
//   forward   products, attention, elementwise, tensor-, context- and expert-parallel communication left over
//   input     backward to the layer's input      weight   backward to its weights (two products for each forward one)
//   ring      attention on cp blocks around a ring, b each, hops h beside it: forward b + (cp - 1) max(b, h);
//             backward, where a block's gradient follows it, b + (cp - 3) max(b, 2 h) + max(2 b, max(b, h) + h),
//             of two b + max(b, h)
//   again     what recomputation repeats: the forward, its communication included; selective: unfused attention alone;
//             PyTorch's own stops early: without a dense layer's last product
// A pass is never quicker than its host launches kernels; the floor is smooth: (gpu^p + host^p)^(1/p).
// Where a schedule gives weight gradients turns of their own they have a floor of their own, else backward has one.
// Parts are of StepLoss; kIdeal is model FLOPs at the peak, everything else what comes on top.
#pragma once

#include "core/layout/layout.h"
#include "core/model/model_spec.h"
#include "simulator/collective/group_cost.h"
#include "simulator/throughput/layout_groups.h"
#include "simulator/throughput/machine_rates.h"
#include "simulator/throughput/step_loss.h"

namespace trainyard::simulator {

struct LayerTime {
  Seconds forward;
  Seconds input;
  Seconds weight;
  Seconds again;
  // Of forward, input and again: the rank communicates and computes nothing.
  Seconds forward_stopped;
  Seconds input_stopped;
  Seconds again_stopped;
  Seconds host_forward;   // of forward, input and weight: waits for the host's launches
  Seconds host_backward;  // ... of both, where a schedule keeps them together
  Seconds host_weight;
  StepLosses losses{};  // sum of forward, input, weight and again
  Seconds total() const { return forward + input + weight + again; }
};

// Layers differ by these alone.
struct LayerKind {
  bool experts = false;
  bool window = false;
};

class LayerPricer {
 public:
  LayerPricer(const ModelSpec& model, std::int64_t sequence, const MachineRates& rates, const GroupCost& groups,
              const Layout& layout, const LayoutGroups& shapes);

  LayerTime layer(LayerKind kind) const;
  // Embedding (on the first stage); final norm, products with the vocabulary and loss (on the last).
  LayerTime embedding() const;
  LayerTime head() const;
  // What a multi-token block has besides its layer, an embedding and a head.
  LayerTime merge() const;
  // Between two stages, once: activations of a micro-batch, or their gradients.
  Seconds transfer() const;

 private:
  // Of one layer: GPU time by pass, before the host's floor.
  struct Passes {
    StepLosses forward{};
    StepLosses input{};
    StepLosses weight{};
    Seconds forward_stopped;
    Seconds input_stopped;
    Seconds again_extra;    // selective recomputation
    Seconds skipped;        // of the forward, by full recomputation
    double launches = 1.0;  // of the host, in layers' worth
  };
  struct Gemm {
    GemmShape shape;
    double copies = 1.0;   // experts side by side
    double weights = 1.0;  // of the parameters it reads, held on this rank
    bool wide = false;
  };

  void add_gemm(Passes& passes, const Gemm& gemm) const;
  void add_attention(Passes& passes, bool window) const;
  void add_attention_products(Passes& passes) const;
  void add_feed_forward(Passes& passes, double width) const;
  void add_experts(Passes& passes) const;
  void add_elementwise(Passes& passes, double feed_forward) const;
  struct TensorBlocks {
    double outputs = 0.0;
    double inputs = 0.0;
  };
  TensorBlocks tensor_blocks() const;
  void add_tensor(Passes& passes, TensorBlocks blocks) const;
  void add_tensor(Passes& passes, Seconds forward, Seconds backward) const;
  void add_context(Passes& passes, Seconds attention_forward, Seconds attention_backward) const;
  Seconds last_product(const Passes& passes) const;
  LayerTime finished(const Passes& passes, bool repeated) const;
  Seconds collective(CollectiveOp op, double bytes, const GroupShape& group) const;
  double share_kv() const;

  const ModelSpec& model_;
  double sequence_;
  const MachineRates& rates_;
  const GroupCost& groups_;
  const Layout& layout_;
  const LayoutGroups& shapes_;
  double tokens_;       // of a micro-batch on this rank
  double norm_tokens_;  // ... of norms and residuals
  double tensor_;
};

}  // namespace trainyard::simulator
