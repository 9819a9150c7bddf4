// Matrix products through cuBLASLt: C (+)= A B of row-major matrices, with an optional bias in the epilogue.
//
//   fp32  fp32 multiplications and sums          bf16, fp16  tensor cores, fp32 sums
//   tf32  fp32 storage, tensor cores with 10 bits of mantissa, where the plan asks for it
//
// cuBLASLt's matrices are column-major, so it is given C^T = B^T A^T. The algorithm of a shape is asked for once and
// kept; split-K only by reductions of fixed order, so that a product repeats to the bit.
//
// Bytes: the operands once each; the time is the larger of FLOPs over the tensor cores' rate and bytes over HBM's:
// from about 300 FLOP a byte (k of 300 and more for large m, n in bf16 on Hopper) the former.
#pragma once

#include <cublasLt.h>
#include <cuda_runtime.h>

#include <map>
#include <tuple>

#include "core/program/operation.h"
#include "executor/device/values.h"

namespace trainyard::executor {

constexpr std::size_t kProductWorkspace = std::size_t{32} << 20;  // what cuBLAS advises for Hopper

class CublasProducts {
 public:
  CublasProducts();
  ~CublasProducts();
  CublasProducts(const CublasProducts&) = delete;
  CublasProducts& operator=(const CublasProducts&) = delete;

  // workspace: kProductWorkspace bytes of device memory, this stream's alone. Arguments as Device::matmul.
  void multiply(cudaStream_t stream, void* workspace, const Gemm& gemm, ConstValues a, ConstValues b, Values c,
                ConstValues bias);

 private:
  // Shape, types, order, epilogue, alignment of the operands.
  using Key = std::tuple<std::int64_t, std::int64_t, std::int64_t, DataType, DataType, DataType, Transpose, bool, bool,
                         std::size_t>;
  struct Product;
  const Product& product(const Key& key);
  static void make(const Key& key, cublasLtHandle_t handle, Product& product);

  cublasLtHandle_t handle_ = nullptr;
  std::map<Key, Product> products_;
};

// What cuBLASLt needs of a product besides addresses.
struct CublasProducts::Product {
  Product() = default;
  ~Product();
  Product(const Product&) = delete;
  Product& operator=(const Product&) = delete;

  cublasLtMatmulDesc_t operation = nullptr;
  cublasLtMatrixLayout_t first = nullptr;   // B
  cublasLtMatrixLayout_t second = nullptr;  // A
  cublasLtMatrixLayout_t result = nullptr;
  cublasLtMatmulAlgo_t algorithm{};
};

}  // namespace trainyard::executor
