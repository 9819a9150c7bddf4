// Turns the error codes of CUDA's libraries into exceptions that say what was being done.
#pragma once

#include <cublasLt.h>
#include <cuda_runtime.h>

namespace trainyard::executor {

// Throws Error with CUDA's own words; out of memory and a missing driver get their hint.
void check_cuda(cudaError_t status, const char* doing);
void check_cublas(cublasStatus_t status, const char* doing);

}  // namespace trainyard::executor
