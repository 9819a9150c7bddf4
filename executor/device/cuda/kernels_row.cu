// Row kernels, fp32, bf16 and fp16.
#include "executor/device/cuda/kernels/row_kernels.h"
#include "executor/device/cuda/launch.cuh"

namespace trainyard::executor {

template void launch(cudaStream_t, const NormForward<float>&);
template void launch(cudaStream_t, const NormForward<Bfloat16>&);
template void launch(cudaStream_t, const NormForward<Float16>&);
template void launch(cudaStream_t, const NormBackward<float>&);
template void launch(cudaStream_t, const NormBackward<Bfloat16>&);
template void launch(cudaStream_t, const NormBackward<Float16>&);
template void launch(cudaStream_t, const LayerNormForward<float>&);
template void launch(cudaStream_t, const LayerNormForward<Bfloat16>&);
template void launch(cudaStream_t, const LayerNormForward<Float16>&);
template void launch(cudaStream_t, const LayerNormBackward<float>&);
template void launch(cudaStream_t, const LayerNormBackward<Bfloat16>&);
template void launch(cudaStream_t, const LayerNormBackward<Float16>&);
template void launch(cudaStream_t, const SwigluForward<float>&);
template void launch(cudaStream_t, const SwigluForward<Bfloat16>&);
template void launch(cudaStream_t, const SwigluForward<Float16>&);
template void launch(cudaStream_t, const SwigluBackward<float>&);
template void launch(cudaStream_t, const SwigluBackward<Bfloat16>&);
template void launch(cudaStream_t, const SwigluBackward<Float16>&);
template void launch(cudaStream_t, const EmbedForward<float>&);
template void launch(cudaStream_t, const EmbedForward<Bfloat16>&);
template void launch(cudaStream_t, const EmbedForward<Float16>&);
template void launch(cudaStream_t, const LossStatisticsKernel<float>&);
template void launch(cudaStream_t, const LossStatisticsKernel<Bfloat16>&);
template void launch(cudaStream_t, const LossStatisticsKernel<Float16>&);
template void launch(cudaStream_t, const LossGradientKernel<float>&);
template void launch(cudaStream_t, const LossGradientKernel<Bfloat16>&);
template void launch(cudaStream_t, const LossGradientKernel<Float16>&);

}  // namespace trainyard::executor
