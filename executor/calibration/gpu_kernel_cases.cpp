#include <cmath>

#include "executor/calibration/kernel_cases.h"
#include "executor/kernel/float8.h"

namespace trainyard::executor {

namespace {

// At most some 10 ms at the rates of a data centre's GPU of 2020 (A100: 312 TFLOP/s in bf16, 19.5 in fp32).
constexpr std::int64_t kLargestProduct = 2'500'000'000'000;
constexpr std::int64_t kLargestFp32Product = 200'000'000'000;
constexpr std::int64_t kLargestAttention = 500'000'000'000;
constexpr std::int64_t kLargestFp32Attention = 50'000'000'000;

// fp16's rates are bf16's on every GPU so far, and fp8 is for many tokens: fewer samples.
bool samples(DataType type, std::int64_t tokens) {
  const bool all = type != DataType::kFp16 && type != DataType::kFp8;
  return all || tokens == 2048 || tokens == 8192;
}

// Widths of the models from 124M to 70B: hidden sizes, fused query-key-value, feed-forward, a slice of a vocabulary.
struct Side {
  std::int64_t width, depth;
};
constexpr Side kSides[] = {{768, 768},    {2304, 768},   {3072, 768},   {768, 3072},  {2048, 2048},
                           {3072, 2048},  {8192, 2048},  {2048, 8192},  {4096, 4096}, {6144, 4096},
                           {14336, 4096}, {4096, 14336}, {16384, 2048}, {8192, 8192}, {1024, 4096}};

std::vector<Gemm> gemm_cases() {
  std::vector<Gemm> gemms;
  for (const DataType type : {DataType::kBf16, DataType::kFp16, DataType::kFp8, DataType::kFp32, DataType::kTf32}) {
    const std::int64_t most =
        type == DataType::kFp32 ? kLargestFp32Product : kLargestProduct / (type == DataType::kTf32 ? 2 : 1);
    for (const Transpose transpose : {Transpose::kNN, Transpose::kNT, Transpose::kTN}) {
      for (const std::int64_t tokens : {512, 2048, 8192, 16384}) {
        for (const Side side : kSides) {
          const bool sums_tokens = transpose == Transpose::kTN;
          Gemm gemm;
          gemm.type = type;
          gemm.transpose = transpose;
          gemm.accumulate = sums_tokens;
          gemm.m = sums_tokens ? side.depth : tokens;
          gemm.n = side.width;
          gemm.k = sums_tokens ? tokens : side.depth;
          if (samples(type, tokens) && flops(Operation(gemm)).value() <= most) {
            gemms.push_back(gemm);
          }
        }
      }
    }
  }
  return gemms;
}

std::vector<Attention> attention_cases() {
  struct Heads {
    std::int64_t query, key, size;
  };
  std::vector<Attention> attentions;
  for (const DataType type : {DataType::kBf16, DataType::kFp16, DataType::kFp32}) {
    const std::int64_t most = type == DataType::kFp32 ? kLargestFp32Attention : kLargestAttention;
    for (const AttentionPass pass : {AttentionPass::kForward, AttentionPass::kBackward}) {
      for (const std::int64_t length : {512, 1024, 2048, 4096, 8192}) {
        for (const Heads heads : {Heads{12, 12, 64}, Heads{32, 8, 64}, Heads{32, 8, 128}, Heads{8, 1, 128}}) {
          for (const std::int64_t sequences : {1, 4}) {
            Attention attention;
            attention.sequences = sequences;
            attention.query_heads = heads.query;
            attention.key_heads = heads.key;
            attention.queries = attention.keys = length;
            attention.head_size = heads.size;
            attention.query_tile = 64;
            attention.pass = pass;
            attention.type = type;
            if (samples(type, length) && attention_flops(attention).value() <= most) {
              attentions.push_back(attention);
            }
          }
        }
      }
    }
  }
  return attentions;
}

}  // namespace

KernelCases gpu_calibration_cases() {
  KernelCases cases{gemm_cases(), attention_cases(), {}};
  for (int kernel = 0; kernel < kElementwiseKernels; ++kernel) {
    for (const std::int64_t elements : {1 << 14, 1 << 18, 1 << 20, 1 << 22, 1 << 24, 1 << 26}) {
      cases.elementwise.push_back(elementwise_case(static_cast<ElementwiseKernel>(kernel), elements));
    }
  }
  return cases;
}

KernelCases runnable(KernelCases cases, int compute_capability) {
  if (compute_capability < kFirstWithFp8) {
    std::erase_if(cases.gemms, [](const Gemm& gemm) { return gemm.type == DataType::kFp8; });
  }
  return cases;
}

}  // namespace trainyard::executor
