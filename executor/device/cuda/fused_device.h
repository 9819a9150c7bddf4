// FusedDevice: LaunchedDevice whose attention is a library's where that takes the shape, and our own kernels otherwise.
//
// Which of the two it is depends on shape, type and alignment alone, so that a resumed run chooses as the first did. A
// library that fails is therefore no reason for our own kernels: its Error ends the run.
//
// Base gives, beside what LaunchedDevice asks of it,
//   enqueue_native(Stream, work)   calls work(void* native_stream) in the stream's order
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "core/error.h"
#include "executor/device/cuda/fused_attention.h"
#include "executor/device/cuda/launched_device.h"
#include "executor/device/element_type.h"

namespace trainyard::executor {

template <class Base>
class FusedDevice : public LaunchedDevice<Base>, public FusedPasses {
 public:
  using LaunchedDevice<Base>::LaunchedDevice;

  // Null: our own kernels alone.
  void use(std::unique_ptr<FusedAttention> fused) { fused_ = std::move(fused); }

  std::string name() const override {
    return LaunchedDevice<Base>::name() + ", attention by " + (fused_ == nullptr ? "our own kernels" : fused_->name());
  }

  void attention_forward(Stream stream, const Attention& attention, ConstValues qkv, Values out,
                         float* log_sum_exp) override {
    check(attention.pass == AttentionPass::kForward, "a forward pass of attention");
    const DataType type = common_type({qkv, out});
    const bool aligned = fused_alignment({qkv.data, out.data, log_sum_exp});
    const bool fused = aligned && fuse(stream, attention, type, [=, this](void* native, auto& shape, void* workspace) {
                         fused_->forward(native, shape, workspace, qkv, out, log_sum_exp);
                       });
    if (!fused) {
      LaunchedDevice<Base>::attention_forward(stream, attention, qkv, out, log_sum_exp);
    }
  }

  void attention_backward(Stream stream, const Attention& attention, ConstValues qkv, ConstValues out,
                          const float* log_sum_exp, ConstValues out_grad, Values qkv_grad) override {
    check(attention.pass == AttentionPass::kBackward, "a backward pass of attention");
    const DataType type = common_type({qkv, out, out_grad, qkv_grad});
    const bool aligned = fused_alignment({qkv.data, out.data, log_sum_exp, out_grad.data, qkv_grad.data});
    const bool fused = aligned && fuse(stream, attention, type, [=, this](void* native, auto& shape, void* workspace) {
                         fused_->backward(native, shape, workspace, qkv, out, log_sum_exp, out_grad, qkv_grad);
                       });
    if (!fused) {
      LaunchedDevice<Base>::attention_backward(stream, attention, qkv, out, log_sum_exp, out_grad, qkv_grad);
    }
  }

  std::int64_t fused_passes() const override { return passes_; }

 private:
  // Whether pass(native stream, shape, workspace) was enqueued.
  template <class Pass>
  bool fuse(Stream stream, const Attention& attention, DataType type, const Pass& pass) {
    const std::optional<FusedShape> shape = fused_ == nullptr ? std::nullopt : fused_shape(attention, type);
    const std::optional<std::int64_t> bytes = shape ? fused_->workspace(*shape) : std::nullopt;
    if (!bytes) {
      return false;
    }
    constexpr std::int64_t kFloat = sizeof(float);
    void* workspace = *bytes == 0 ? nullptr : this->scratch(stream, (*bytes + kFloat - 1) / kFloat);
    this->enqueue_native(stream, [=, shape = *shape](void* native) { pass(native, shape, workspace); });
    this->count(attention_flops(attention), 0);
    ++passes_;
    return true;
  }

  std::unique_ptr<FusedAttention> fused_;
  std::int64_t passes_ = 0;
};

}  // namespace trainyard::executor
