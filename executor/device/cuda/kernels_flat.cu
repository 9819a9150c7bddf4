// Kernels over flat arrays, rotary positions, sums over tokens and the gradient norm, fp32, bf16 and fp16.
#include "executor/device/cuda/kernels/column_kernels.h"
#include "executor/device/cuda/kernels/flat_kernels.h"
#include "executor/device/cuda/kernels/fp8_kernels.h"
#include "executor/device/cuda/kernels/sum_kernels.h"
#include "executor/device/cuda/launch.cuh"

namespace trainyard::executor {

template void launch(cudaStream_t, const AddKernel<float>&);
template void launch(cudaStream_t, const AddKernel<Bfloat16>&);
template void launch(cudaStream_t, const AddKernel<Float16>&);
template void launch(cudaStream_t, const PositionForward<float>&);
template void launch(cudaStream_t, const PositionForward<Bfloat16>&);
template void launch(cudaStream_t, const PositionForward<Float16>&);
template void launch(cudaStream_t, const GeluForward<float>&);
template void launch(cudaStream_t, const GeluForward<Bfloat16>&);
template void launch(cudaStream_t, const GeluForward<Float16>&);
template void launch(cudaStream_t, const GeluBackward<float>&);
template void launch(cudaStream_t, const GeluBackward<Bfloat16>&);
template void launch(cudaStream_t, const GeluBackward<Float16>&);
template void launch(cudaStream_t, const RopeKernel<float>&);
template void launch(cudaStream_t, const RopeKernel<Bfloat16>&);
template void launch(cudaStream_t, const RopeKernel<Float16>&);
template void launch(cudaStream_t, const AdamWKernel<float, float>&);
template void launch(cudaStream_t, const AdamWKernel<float, Bfloat16>&);
template void launch(cudaStream_t, const AdamWKernel<float, Float16>&);
template void launch(cudaStream_t, const AdamWKernel<Bfloat16, Bfloat16>&);
template void launch(cudaStream_t, const AdamWKernel<Float16, Float16>&);
template void launch(cudaStream_t, const SgdKernel<float, float>&);
template void launch(cudaStream_t, const SgdKernel<float, Bfloat16>&);
template void launch(cudaStream_t, const SgdKernel<float, Float16>&);
template void launch(cudaStream_t, const SgdKernel<Bfloat16, Bfloat16>&);
template void launch(cudaStream_t, const SgdKernel<Float16, Float16>&);

template void launch(cudaStream_t, const ColumnPartialSums<NormWeightTerm<float>, 1>&);
template void launch(cudaStream_t, const ColumnPartialSums<NormWeightTerm<float>, 4>&);
template void launch(cudaStream_t, const ColumnPartialSums<NormWeightTerm<Bfloat16>, 1>&);
template void launch(cudaStream_t, const ColumnPartialSums<NormWeightTerm<Float16>, 1>&);
template void launch(cudaStream_t, const ColumnPartialSums<NormWeightTerm<Bfloat16>, 8>&);
template void launch(cudaStream_t, const ColumnPartialSums<NormWeightTerm<Float16>, 8>&);
template void launch(cudaStream_t, const ColumnPartialSums<LayerNormWeightTerm<float>, 1>&);
template void launch(cudaStream_t, const ColumnPartialSums<LayerNormWeightTerm<float>, 4>&);
template void launch(cudaStream_t, const ColumnPartialSums<LayerNormWeightTerm<Bfloat16>, 1>&);
template void launch(cudaStream_t, const ColumnPartialSums<LayerNormWeightTerm<Float16>, 1>&);
template void launch(cudaStream_t, const ColumnPartialSums<LayerNormWeightTerm<Bfloat16>, 8>&);
template void launch(cudaStream_t, const ColumnPartialSums<LayerNormWeightTerm<Float16>, 8>&);
template void launch(cudaStream_t, const ColumnPartialSums<BiasTerm<float>, 1>&);
template void launch(cudaStream_t, const ColumnPartialSums<BiasTerm<float>, 4>&);
template void launch(cudaStream_t, const ColumnPartialSums<BiasTerm<Bfloat16>, 1>&);
template void launch(cudaStream_t, const ColumnPartialSums<BiasTerm<Float16>, 1>&);
template void launch(cudaStream_t, const ColumnPartialSums<BiasTerm<Bfloat16>, 8>&);
template void launch(cudaStream_t, const ColumnPartialSums<BiasTerm<Float16>, 8>&);
template void launch(cudaStream_t, const ColumnSums<float>&);
template void launch(cudaStream_t, const ColumnSums<Bfloat16>&);
template void launch(cudaStream_t, const ColumnSums<Float16>&);
template void launch(cudaStream_t, const PositionBackward<float, float>&);
template void launch(cudaStream_t, const PositionBackward<Bfloat16, float>&);
template void launch(cudaStream_t, const PositionBackward<Float16, float>&);
template void launch(cudaStream_t, const PositionBackward<Bfloat16, Bfloat16>&);
template void launch(cudaStream_t, const PositionBackward<Float16, Float16>&);
template void launch(cudaStream_t, const EmbedBackward<float, float>&);
template void launch(cudaStream_t, const EmbedBackward<Bfloat16, float>&);
template void launch(cudaStream_t, const EmbedBackward<Float16, float>&);
template void launch(cudaStream_t, const EmbedBackward<Bfloat16, Bfloat16>&);
template void launch(cudaStream_t, const EmbedBackward<Float16, Float16>&);

template void launch(cudaStream_t, const LargestMagnitude<Bfloat16>&);
template void launch(cudaStream_t, const Float8Cast<Bfloat16, Float8E4M3>&);
template void launch(cudaStream_t, const Float8Cast<Bfloat16, Float8E5M2>&);
template void launch(cudaStream_t, const Float8CastTurned<Bfloat16, Float8E4M3>&);
template void launch(cudaStream_t, const Float8CastTurned<Bfloat16, Float8E5M2>&);

template void launch(cudaStream_t, const SumOfSquares<float>&);
template void launch(cudaStream_t, const SumOfSquares<Bfloat16>&);
template void launch(cudaStream_t, const SumOfSquares<Float16>&);
template void launch(cudaStream_t, const ClipScaleKernel&);

}  // namespace trainyard::executor
