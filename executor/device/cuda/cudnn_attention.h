// cuDNN's scaled dot-product attention (its graph interface, built by NVIDIA's C++ front end), forward and backward.
//
// A graph and its plan are made once a shape and kept, as cuDNN's heuristics rank them first among those within
// kFusedWorkspace. A shape is refused by what cuDNN says of graph and kind of GPU before anything is compiled, and by
// the workspace; whatever else fails is an Error, since the next time it might not. The backward is cuDNN's
// deterministic one: on GPUs of compute capability below 10 it keeps the scores' gradient between two passes, 2 bytes
// for each of sequences * heads * rows * rows, which for long sequences is beyond kFusedWorkspace; our own kernels,
// which need 4 bytes a row and head, then do it.
//
// Bytes: forward reads Q, K, V and writes out and the log-sum-exp, as our own kernels do (attention_forward.h);
// backward adds the above, written once and read once. Both are bound by the tensor cores.
#pragma once

#include <cudnn.h>

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "executor/device/cuda/cudnn_module.h"
#include "executor/device/cuda/fused_attention.h"

namespace trainyard::executor {

// The first whose deterministic backward is there for Blackwell; those up to 9.15 copy from the host in each call,
// which a CUDA graph can't keep, and several have defects that the front end lists.
constexpr std::size_t kOldestCudnn = 91800;

// What a pass may take of the memory that is left beside a plan's (docs/running-on-gpus.md).
constexpr std::int64_t kFusedWorkspace = std::int64_t{1} << 30;

std::string cudnn_version_text(std::size_t version);  // 91900: "9.19.0"

class CudnnAttention final : public FusedAttention {
 public:
  explicit CudnnAttention(const CudnnOptions& options);
  ~CudnnAttention() override;
  CudnnAttention(const CudnnAttention&) = delete;
  CudnnAttention& operator=(const CudnnAttention&) = delete;

  std::string name() const override;
  std::optional<std::int64_t> workspace(const FusedShape& shape) override;
  void forward(void* stream, const FusedShape& shape, void* workspace, ConstValues qkv, Values out,
               float* log_sum_exp) override;
  void backward(void* stream, const FusedShape& shape, void* workspace, ConstValues qkv, ConstValues out,
                const float* log_sum_exp, ConstValues out_grad, Values qkv_grad) override;

 private:
  struct Plan;
  struct Arrays;
  void tell(const FusedShape& shape, const std::string& refusal) const;
  void run(void* stream, const FusedShape& shape, void* workspace, const Arrays& arrays);

  CudnnOptions options_;
  int compute_capability_ = 0;  // 90: 9.0
  cudnnHandle_t handle_ = nullptr;
  std::map<FusedShape, std::unique_ptr<Plan>> plans_;
};

}  // namespace trainyard::executor
