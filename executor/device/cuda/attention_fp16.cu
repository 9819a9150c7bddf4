// Attention kernels for fp16: tensor cores.
#include "executor/device/cuda/kernels/attention_backward.h"
#include "executor/device/cuda/launch.cuh"

namespace trainyard::executor {

template void launch(cudaStream_t, const AttentionDelta<Float16>&);
template void launch(cudaStream_t, const AttentionForward<Float16, 64>&);
template void launch(cudaStream_t, const AttentionForward<Float16, 128>&);
template void launch(cudaStream_t, const AttentionQueryGradient<Float16, 64>&);
template void launch(cudaStream_t, const AttentionQueryGradient<Float16, 128>&);
template void launch(cudaStream_t, const AttentionKeyGradient<Float16, 64>&);
template void launch(cudaStream_t, const AttentionKeyGradient<Float16, 128>&);

}  // namespace trainyard::executor
