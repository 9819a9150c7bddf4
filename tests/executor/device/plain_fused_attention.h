// PlainFusedAttention: plain loops in a library's place, for tests of what lies around it.
//
// It reaches its operands through FusedTensors alone and keeps keys as cuDNN's band does, so that strides, statistics,
// scale and mask are those that a library is told.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "executor/device/cuda/fused_attention.h"

namespace trainyard::executor {

class PlainFusedAttention final : public FusedAttention {
 public:
  // takes: which shapes; may throw, as a library may fail. taken: gets each shape whose pass has run; outlives this.
  PlainFusedAttention(std::function<bool(const FusedShape&)> takes, std::vector<FusedShape>* taken)
      : takes_(std::move(takes)), taken_(taken) {}

  std::string name() const override { return "plain loops"; }
  std::optional<std::int64_t> workspace(const FusedShape& shape) override;
  void forward(void* stream, const FusedShape& shape, void* workspace, ConstValues qkv, Values out,
               float* log_sum_exp) override;
  void backward(void* stream, const FusedShape& shape, void* workspace, ConstValues qkv, ConstValues out,
                const float* log_sum_exp, ConstValues out_grad, Values qkv_grad) override;

 private:
  std::function<bool(const FusedShape&)> takes_;
  std::vector<FusedShape>* taken_;
};

}  // namespace trainyard::executor
