// FusedAttention: attention by a library's kernels, for the shapes that it takes; FusedDevice asks it first.
//
// What it computes is what Device::attention_forward and attention_backward say, in the same arrays: the log-sum-exp is
// of scaled scores, in nats, so that either's forward fits either's backward. Results repeat to the bit.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "executor/device/cuda/fused_shape.h"
#include "executor/device/values.h"

namespace trainyard::executor {

class FusedAttention {
 public:
  virtual ~FusedAttention() = default;

  virtual std::string name() const = 0;  // "cuDNN 9.19.0"

  // Bytes of device memory that it needs for a pass of this shape; empty: it doesn't take the shape, which it says of
  // that shape on that kind of GPU always. The first call of a shape makes what the passes use, which may take a
  // second; not while a stream is captured. Throws Error where that fails, for it might not fail the next time.
  virtual std::optional<std::int64_t> workspace(const FusedShape& shape) = 0;

  // A shape that it takes, of that pass; arrays aligned to kFusedAlignment; workspace: of that size, the stream's
  // alone. stream: a cudaStream_t. Enqueues, and can be captured. Throws Error.
  virtual void forward(void* stream, const FusedShape& shape, void* workspace, ConstValues qkv, Values out,
                       float* log_sum_exp) = 0;
  virtual void backward(void* stream, const FusedShape& shape, void* workspace, ConstValues qkv, ConstValues out,
                        const float* log_sum_exp, ConstValues out_grad, Values qkv_grad) = 0;
};

// What a device with a FusedAttention has beside Device.
class FusedPasses {
 public:
  virtual ~FusedPasses() = default;
  // Of attention, that the library was called for; those of a capture count once.
  virtual std::int64_t fused_passes() const = 0;
};

}  // namespace trainyard::executor
