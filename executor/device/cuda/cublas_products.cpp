#include "executor/device/cuda/cublas_products.h"

#include <algorithm>
#include <cstdint>
#include <string>

#include "core/error.h"
#include "executor/device/cuda/cuda_check.h"

namespace trainyard::executor {

namespace {

cudaDataType_t cuda_type(DataType type) {
  switch (type) {
    case DataType::kFp32:
    case DataType::kTf32:
      return CUDA_R_32F;
    case DataType::kBf16:
      return CUDA_R_16BF;
    case DataType::kFp16:
      return CUDA_R_16F;
    default:
      throw Error("the CUDA device multiplies fp32, tf32, bf16 and fp16, not " + std::string(to_string(type)),
                  "--precision", "use bf16");
  }
}

cudaDataType_t operand_type(DataType type, bool gradient) {
  if (type == DataType::kFp8) {
    return gradient ? CUDA_R_8F_E5M2 : CUDA_R_8F_E4M3;
  }
  return cuda_type(type);
}

// Bytes that all addresses are multiples of, at most what cuBLASLt looks at.
std::size_t common_alignment(std::initializer_list<const void*> addresses) {
  std::uintptr_t bits = 256;
  for (const void* address : addresses) {
    bits |= reinterpret_cast<std::uintptr_t>(address);
  }
  return static_cast<std::size_t>(bits & (~bits + 1));
}

template <class Value>
void set(cublasLtMatmulDesc_t operation, cublasLtMatmulDescAttributes_t attribute, const Value& value) {
  check_cublas(cublasLtMatmulDescSetAttribute(operation, attribute, &value, sizeof(value)), "a matrix product");
}

template <class Value>
void set(cublasLtMatmulPreference_t preference, cublasLtMatmulPreferenceAttributes_t attribute, const Value& value) {
  check_cublas(cublasLtMatmulPreferenceSetAttribute(preference, attribute, &value, sizeof(value)), "a matrix product");
}

// Column-major, as it is stored: rows are contiguous.
cublasLtMatrixLayout_t layout(cudaDataType_t type, std::int64_t rows, std::int64_t columns) {
  cublasLtMatrixLayout_t made = nullptr;
  check_cublas(cublasLtMatrixLayoutCreate(&made, type, static_cast<std::uint64_t>(rows),
                                          static_cast<std::uint64_t>(columns), rows),
               "a matrix product");
  return made;
}

cublasLtMatmulAlgo_t choose(cublasLtHandle_t handle, cublasLtMatmulDesc_t operation, cublasLtMatrixLayout_t first,
                            cublasLtMatrixLayout_t second, cublasLtMatrixLayout_t result, std::size_t alignment,
                            const std::string& shape) {
  cublasLtMatmulPreference_t preference = nullptr;
  check_cublas(cublasLtMatmulPreferenceCreate(&preference), "a matrix product");
  set(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, kProductWorkspace);
  const auto schemes = static_cast<std::uint32_t>(CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE);
  set(preference, CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, schemes);
  const auto bytes = static_cast<std::uint32_t>(alignment);
  for (const auto attribute :
       {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES,
        CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES}) {
    set(preference, attribute, bytes);
  }
  cublasLtMatmulHeuristicResult_t found{};
  int count = 0;
  const cublasStatus_t status =
      cublasLtMatmulAlgoGetHeuristic(handle, operation, first, second, result, result, preference, 1, &found, &count);
  cublasLtMatmulPreferenceDestroy(preference);
  if (status != CUBLAS_STATUS_SUCCESS || count == 0) {
    throw Error("cuBLASLt has no algorithm for a product of " + shape + ": " + cublasLtGetStatusString(status),
                "the CUDA device", "another precision may work: --precision");
  }
  return found.algo;
}

}  // namespace

CublasProducts::CublasProducts() { check_cublas(cublasLtCreate(&handle_), "start of cuBLASLt"); }

CublasProducts::~CublasProducts() {
  products_.clear();
  cublasLtDestroy(handle_);
}

CublasProducts::Product::~Product() {
  for (cublasLtMatrixLayout_t matrix : {first, second, result}) {
    if (matrix != nullptr) {
      cublasLtMatrixLayoutDestroy(matrix);
    }
  }
  if (operation != nullptr) {
    cublasLtMatmulDescDestroy(operation);
  }
}

cublasLtEpilogue_t CublasProducts::lt_epilogue(Epilogue epilogue) {
  switch (epilogue) {
    case Epilogue::kNone:
      return CUBLASLT_EPILOGUE_DEFAULT;
    case Epilogue::kBias:
      return CUBLASLT_EPILOGUE_BIAS;
    case Epilogue::kGelu:
      return CUBLASLT_EPILOGUE_GELU_AUX;
    case Epilogue::kGeluBias:
      return CUBLASLT_EPILOGUE_GELU_AUX_BIAS;
    case Epilogue::kGeluGradient:
      return CUBLASLT_EPILOGUE_DGELU;
  }
  check(false, "an epilogue of a product");
  return CUBLASLT_EPILOGUE_DEFAULT;
}

CublasProducts::Key CublasProducts::key_of(const Gemm& gemm, ConstValues a, ConstValues c, Epilogue epilogue,
                                           std::size_t alignment) {
  return {gemm.m,        gemm.n,         gemm.k,          gemm.type, a.type,   c.type,
          gemm.gradient, gemm.transpose, gemm.accumulate, epilogue,  alignment};
}

void CublasProducts::make(const Key& key, cublasLtHandle_t handle, Product& made) {
  const auto& [m, n, k, mode, type, result_type, gradient, transpose, accumulate, epilogue, alignment] = key;
  const cublasComputeType_t compute = mode == DataType::kTf32 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F;
  check_cublas(cublasLtMatmulDescCreate(&made.operation, compute, CUDA_R_32F), "a matrix product");
  // A stored [m, k] is to column-major eyes [k, m], which is A^T as wanted; stored [k, m] it must be turned.
  set(made.operation, CUBLASLT_MATMUL_DESC_TRANSA, transpose == Transpose::kNT ? CUBLAS_OP_T : CUBLAS_OP_N);
  set(made.operation, CUBLASLT_MATMUL_DESC_TRANSB, transpose == Transpose::kTN ? CUBLAS_OP_T : CUBLAS_OP_N);
  if (epilogue != Epilogue::kNone) {
    set(made.operation, CUBLASLT_MATMUL_DESC_EPILOGUE, lt_epilogue(epilogue));
  }
  if (epilogue == Epilogue::kBias || epilogue == Epilogue::kGeluBias) {
    set(made.operation, CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE,
        static_cast<std::int32_t>(type == DataType::kFp8 ? CUDA_R_16BF : cuda_type(type)));
  }
  if (epilogue >= Epilogue::kGelu) {
    set(made.operation, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, n);
  }
  const cudaDataType_t first = operand_type(type, gradient == GradientOperand::kB);
  const cudaDataType_t second = operand_type(type, gradient == GradientOperand::kA);
  made.first = transpose == Transpose::kNT ? layout(first, k, n) : layout(first, n, k);
  made.second = transpose == Transpose::kTN ? layout(second, m, k) : layout(second, k, m);
  made.result = layout(cuda_type(result_type), n, m);
  const std::string shape = std::to_string(m) + " x " + std::to_string(n) + " x " + std::to_string(k);
  made.algorithm = choose(handle, made.operation, made.first, made.second, made.result, alignment, shape);
}

const CublasProducts::Product& CublasProducts::product(const Key& key) {
  const auto [place, added] = products_.try_emplace(key);
  if (added) {
    try {
      make(key, handle_, place->second);
    } catch (...) {
      products_.erase(place);
      throw;
    }
  }
  return place->second;
}

void CublasProducts::multiply(cudaStream_t stream, void* workspace, const Gemm& gemm, ConstValues a, ConstValues b,
                              Values c, ConstValues bias) {
  check(gemm.batch == 1, "a product of the device has batch 1");
  check(a.type == b.type && (!bias || (bias.type == a.type && !gemm.accumulate)), "operands of a product");
  const Product& what =
      product(key_of(gemm, a, c, bias ? Epilogue::kBias : Epilogue::kNone, common_alignment({a.data, b.data, c.data})));
  if (bias) {
    set(what.operation, CUBLASLT_MATMUL_DESC_BIAS_POINTER, bias.data);
  }
  run(stream, workspace, what, gemm, a, b, c);
}

void CublasProducts::multiply_fp8(cudaStream_t stream, void* workspace, const Fp8Product& product8) {
  const Gemm gemm{.m = product8.m,
                  .n = product8.n,
                  .k = product8.k,
                  .type = DataType::kFp8,
                  .transpose = Transpose::kNT,
                  .accumulate = product8.accumulate,
                  .gradient = product8.gradient()};
  const ConstValues a(product8.a.data, DataType::kFp8), b(product8.b.data, DataType::kFp8);
  const std::size_t alignment = common_alignment({a.data, b.data, product8.c.data});
  const Product& what =
      product(key_of(gemm, a, product8.c, product8.bias ? Epilogue::kBias : Epilogue::kNone, alignment));
  if (product8.bias) {
    set(what.operation, CUBLASLT_MATMUL_DESC_BIAS_POINTER, product8.bias.data);
  }
  set(what.operation, CUBLASLT_MATMUL_DESC_A_SCALE_POINTER, product8.b.inverse);
  set(what.operation, CUBLASLT_MATMUL_DESC_B_SCALE_POINTER, product8.a.inverse);
  run(stream, workspace, what, gemm, a, b, product8.c);
}

const CublasProducts::Product* CublasProducts::activating_product(const Key& key) {
  if (refused_.contains(key)) {
    return nullptr;
  }
  try {
    return &product(key);
  } catch (const Error&) {
    refused_.insert(key);
    return nullptr;
  }
}

namespace {
bool activates(const Gemm& gemm, ConstValues a, ConstValues before, ConstValues result) {
  const bool one_type = gemm.type != DataType::kFp8 && before.type == a.type && result.type == a.type;
  const bool whole = gemm.n % 8 == 0 && common_alignment({before.data, result.data}) >= 16;
  return one_type && whole && !gemm.accumulate;
}
}  // namespace

bool CublasProducts::activate(cudaStream_t stream, void* workspace, const Gemm& gemm, ConstValues a, ConstValues b,
                              ConstValues bias, ConstValues before, Values result, Epilogue epilogue) {
  if (!activates(gemm, a, before, result)) {
    return false;
  }
  const Product* what = activating_product(
      key_of(gemm, a, result, epilogue, common_alignment({a.data, b.data, before.data, result.data})));
  if (what == nullptr) {
    return false;
  }
  if (bias) {
    set(what->operation, CUBLASLT_MATMUL_DESC_BIAS_POINTER, bias.data);
  }
  set(what->operation, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, before.data);
  run(stream, workspace, *what, gemm, a, b, result);
  return true;
}

bool CublasProducts::multiply_gelu(cudaStream_t stream, void* workspace, const Gemm& gemm, ConstValues a, ConstValues b,
                                   ConstValues bias, Values before, Values activated) {
  return activate(stream, workspace, gemm, a, b, bias, before, activated, bias ? Epilogue::kGeluBias : Epilogue::kGelu);
}

bool CublasProducts::multiply_gelu_backward(cudaStream_t stream, void* workspace, const Gemm& gemm, ConstValues a,
                                            ConstValues b, ConstValues before, Values c) {
  return activate(stream, workspace, gemm, a, b, {}, before, c, Epilogue::kGeluGradient);
}

void CublasProducts::run(cudaStream_t stream, void* workspace, const Product& what, const Gemm& gemm, ConstValues a,
                         ConstValues b, Values c) const {
  const float one = 1.0f;
  const float beta = gemm.accumulate ? 1.0f : 0.0f;
  check_cublas(cublasLtMatmul(handle_, what.operation, &one, b.data, what.first, a.data, what.second, &beta, c.data,
                              what.result, c.data, what.result, &what.algorithm, workspace, kProductWorkspace, stream),
               "a matrix product");
}

}  // namespace trainyard::executor
