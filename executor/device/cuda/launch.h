// Launches a kernel (kernels/launch_shape.h) on a stream. The .cu files beside this instantiate it for every kernel.
#pragma once

#include <cuda_runtime.h>

namespace trainyard::executor {

// Throws Error when the GPU refuses it.
template <class Kernel>
void launch(cudaStream_t stream, const Kernel& kernel);

}  // namespace trainyard::executor
