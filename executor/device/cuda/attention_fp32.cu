// Attention kernels for fp32: ordinary multiply-adds, exact to rounding.
#include "executor/device/cuda/kernels/attention_backward.h"
#include "executor/device/cuda/launch.cuh"

namespace trainyard::executor {

template void launch(cudaStream_t, const AttentionDelta<float>&);
template void launch(cudaStream_t, const AttentionForward<float, 64>&);
template void launch(cudaStream_t, const AttentionForward<float, 128>&);
template void launch(cudaStream_t, const AttentionQueryGradient<float, 64>&);
template void launch(cudaStream_t, const AttentionQueryGradient<float, 128>&);
template void launch(cudaStream_t, const AttentionKeyGradient<float, 64>&);
template void launch(cudaStream_t, const AttentionKeyGradient<float, 128>&);

}  // namespace trainyard::executor
