// Matrix products through cuBLASLt: C (+)= A B of row-major matrices, with an optional bias in the epilogue.
//
//   fp32  fp32 multiplications and sums          bf16, fp16  tensor cores, fp32 sums
//   tf32  fp32 storage, tensor cores with 10 bits of mantissa, where the plan asks for it
//   fp8   tensor cores, both operands along their rows (kNT), each with the inverse of its scale; from compute
//         capability 8.9 on
//
// cuBLASLt's matrices are column-major, so it is given C^T = B^T A^T. The algorithm of a shape is asked for once and
// kept; split-K only by reductions of fixed order, so that a product repeats to the bit.
//
// Bytes: the operands once each; the time is the larger of FLOPs over the tensor cores' rate and bytes over HBM's:
// from about 300 FLOP a byte (k of 300 and more for large m, n in bf16 on Hopper) the former.
#pragma once

#include <cublasLt.h>
#include <cuda_runtime.h>

#include <cstdint>
#include <map>
#include <set>
#include <tuple>

#include "core/program/operation.h"
#include "executor/device/fp8_product.h"
#include "executor/device/values.h"

namespace trainyard::executor {

constexpr std::size_t kProductWorkspace = std::size_t{32} << 20;  // what cuBLAS advises for Hopper

class CublasProducts {
 public:
  CublasProducts();
  ~CublasProducts();
  CublasProducts(const CublasProducts&) = delete;
  CublasProducts& operator=(const CublasProducts&) = delete;

  // Arguments as Device::matmul_gelu and matmul_gelu_backward. Whether it was done: cuBLASLt activates in the epilogue
  // where all three results' types are one, rows are a multiple of 8 elements and 16 bytes, and it has an algorithm.
  bool multiply_gelu(cudaStream_t stream, void* workspace, const Gemm& gemm, ConstValues a, ConstValues b,
                     ConstValues bias, Values before, Values activated);
  bool multiply_gelu_backward(cudaStream_t stream, void* workspace, const Gemm& gemm, ConstValues a, ConstValues b,
                              ConstValues before, Values c);
  void multiply_fp8(cudaStream_t stream, void* workspace, const Fp8Product& product);
  // workspace: kProductWorkspace bytes of device memory, this stream's alone. Arguments as Device::matmul.
  void multiply(cudaStream_t stream, void* workspace, const Gemm& gemm, ConstValues a, ConstValues b, Values c,
                ConstValues bias);

 private:
  // What is done to a product before it is stored. kGelu, kGeluBias: stored before it is activated, too.
  enum class Epilogue : std::uint8_t { kNone, kBias, kGelu, kGeluBias, kGeluGradient };
  // Shape, types (of fp8: which operand is a gradient), order, epilogue, alignment of the operands.
  using Key = std::tuple<std::int64_t, std::int64_t, std::int64_t, DataType, DataType, DataType, GradientOperand,
                         Transpose, bool, Epilogue, std::size_t>;
  struct Product;
  static cublasLtEpilogue_t lt_epilogue(Epilogue epilogue);
  static Key key_of(const Gemm& gemm, ConstValues a, ConstValues c, Epilogue epilogue, std::size_t alignment);
  // Whether it was done. before: read where the epilogue is kGeluGradient, otherwise written.
  bool activate(cudaStream_t stream, void* workspace, const Gemm& gemm, ConstValues a, ConstValues b, ConstValues bias,
                ConstValues before, Values result, Epilogue epilogue);
  const Product& product(const Key& key);
  const Product* activating_product(const Key& key);  // null: cuBLASLt has none
  void run(cudaStream_t stream, void* workspace, const Product& what, const Gemm& gemm, ConstValues a, ConstValues b,
           Values c) const;
  static void make(const Key& key, cublasLtHandle_t handle, Product& product);

  cublasLtHandle_t handle_ = nullptr;
  std::map<Key, Product> products_;
  std::set<Key> refused_;
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
