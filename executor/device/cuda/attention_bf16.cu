// Attention kernels for bf16: tensor cores.
#include "executor/device/cuda/kernels/attention_backward.h"
#include "executor/device/cuda/launch.cuh"

namespace trainyard::executor {

template void launch(cudaStream_t, const AttentionDelta<Bfloat16>&);
template void launch(cudaStream_t, const AttentionForward<Bfloat16, 64>&);
template void launch(cudaStream_t, const AttentionForward<Bfloat16, 128>&);
template void launch(cudaStream_t, const AttentionQueryGradient<Bfloat16, 64>&);
template void launch(cudaStream_t, const AttentionQueryGradient<Bfloat16, 128>&);
template void launch(cudaStream_t, const AttentionKeyGradient<Bfloat16, 64>&);
template void launch(cudaStream_t, const AttentionKeyGradient<Bfloat16, 128>&);

}  // namespace trainyard::executor
