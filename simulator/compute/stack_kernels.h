// StackKernels: a program's operations under a stack profile, by the functions that the closed form of a step uses.
//
//   Gemm         gemm_time, grouped_gemm_time for several at once, by its type: narrower than 16 bits in layers alone,
//                where forward and input gradient cast the left side; a weight gradient is added to earlier
//                micro-batches'; the head's vocabulary is padded (layer_time.h)
//   Attention    attention_forward_time, attention_backward_time, on the keys that the mask leaves; selective
//                recomputation of unfused attention runs the forward again before the backward
//   Elementwise  elementwise_bytes by kernel: norms half of a layer's residual traffic each, activations, positions
//                (with queries, keys and values moved), loss by logit, tokens of experts by the stack's bytes; backward
//                twice
//   Update       kUpdateBytes a parameter, kNormBytes a gradient (update_time.h)
// Source: simulator/throughput.
#pragma once

#include <optional>

#include "core/layout/layout.h"
#include "core/model/model_spec.h"
#include "simulator/compute/kernel_cost.h"
#include "simulator/throughput/machine_rates.h"

namespace trainyard::simulator {

class StackKernels final : public KernelCost {
 public:
  StackKernels(MachineRates rates, const ModelSpec& model, const Layout& layout);
  Seconds time(const Operation& operation) const override;

 private:
  bool is_vocabulary(double size) const { return size > vocabulary_ - 1.0 && size < vocabulary_ + 1.0; }
  Seconds gemm(const Gemm& gemm) const;
  Seconds attention(const Attention& attention) const;
  double bytes(const Elementwise& pass) const;
  double activation(const Elementwise& pass) const;

  MachineRates rates_;
  double projected_ = 1.0;     // elements of queries, keys and values for each that positions turn
  double accumulation_bytes_;  // of a weight
  bool scores_again_;          // selective recomputation
  // Of an element, where all feed-forwards are experts whose activations differ from others'.
  std::optional<double> activation_bytes_;
  double vocabulary_;  // of a tensor-parallel rank: at least so much, and less than one more
  double padded_;
};

}  // namespace trainyard::simulator
