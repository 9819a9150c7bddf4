#include "executor/calibration/kernel_cases.h"

#include <algorithm>
#include <cmath>

namespace trainyard::executor {

namespace {

constexpr Transpose kTransposes[] = {Transpose::kNN, Transpose::kNT, Transpose::kTN};
// One product of at most this many FLOPs: some 20 ms on one core.
constexpr std::int64_t kLargestProduct = 2'200'000'000;
constexpr std::int64_t kLargestAttention = 1'200'000'000;

// The radical inverse: digits of `index` in `base`, mirrored at the point. In (0, 1).
double halton(int index, int base) {
  double result = 0.0, digit = 1.0;
  for (; index > 0; index /= base) {
    digit /= base;
    result += digit * (index % base);
  }
  return result;
}

// Between 2^low and 2^high, to a multiple of 32.
std::int64_t between(double low, double high, double position) {
  const double size = std::exp2(low + (high - low) * position);
  return std::max<std::int64_t>(32, std::llround(size / 32.0) * 32);
}

// In a step one side of a product is tokens: m with kNN and kNT, k with kTN.
Gemm product(Transpose transpose, std::int64_t tokens, std::int64_t width, std::int64_t depth, bool accumulate) {
  Gemm gemm;
  gemm.transpose = transpose;
  gemm.accumulate = accumulate;
  const bool sums_tokens = transpose == Transpose::kTN;
  gemm.m = sums_tokens ? depth : tokens;
  gemm.n = width;
  gemm.k = sums_tokens ? tokens : depth;
  return gemm;
}

void add_product(std::vector<Gemm>& gemms, const Gemm& gemm) {
  if (flops(Operation(gemm)).value() <= kLargestProduct) {
    gemms.push_back(gemm);
  }
}

std::vector<Gemm> gemm_cases() {
  std::vector<Gemm> gemms;
  for (const Transpose transpose : kTransposes) {
    for (const std::int64_t tokens : {128, 512, 2048}) {
      for (const std::int64_t width : {64, 256, 1024}) {
        for (const std::int64_t depth : {64, 256, 1024}) {
          add_product(gemms, product(transpose, tokens, width, depth, false));
          if (transpose == Transpose::kTN) {
            add_product(gemms, product(transpose, tokens, width, depth, true));
          }
        }
      }
    }
    constexpr int kBetween = 30;
    for (int i = 1; i <= kBetween; ++i) {
      add_product(gemms, product(transpose, between(6.5, 12.0, halton(i, 2)), between(6.0, 11.5, halton(i, 3)),
                                 between(6.0, 11.0, halton(i, 5)), transpose == Transpose::kTN && i % 2 == 0));
    }
  }
  return gemms;
}

std::vector<Attention> attention_cases() {
  struct Heads {
    std::int64_t sequences, query_heads, key_heads;
  };
  std::vector<Attention> attentions;
  for (const AttentionPass pass : {AttentionPass::kForward, AttentionPass::kBackward}) {
    for (const std::int64_t length : {64, 128, 256, 512, 1024}) {
      for (const std::int64_t head_size : {32, 64, 128}) {
        for (const Heads heads : {Heads{1, 4, 4}, Heads{2, 4, 2}, Heads{4, 8, 4}}) {
          Attention attention;
          attention.sequences = heads.sequences;
          attention.query_heads = heads.query_heads;
          attention.key_heads = heads.key_heads;
          attention.queries = attention.keys = length;
          attention.head_size = head_size;
          attention.query_tile = 64;
          attention.pass = pass;
          if (attention_flops(attention).value() <= kLargestAttention) {
            attentions.push_back(attention);
          }
        }
      }
    }
  }
  return attentions;
}

struct Traffic {
  std::int64_t read, written;  // floats per element
};

Traffic traffic(ElementwiseKernel kernel) {
  switch (kernel) {
    case ElementwiseKernel::kEmbedForward:
    case ElementwiseKernel::kRopeForward:
    case ElementwiseKernel::kRopeBackward:
    case ElementwiseKernel::kLossGradient:
    case ElementwiseKernel::kCopy:
    case ElementwiseKernel::kGeluForward:
    case ElementwiseKernel::kPositionForward:
      return {1, 1};
    case ElementwiseKernel::kEmbedBackward:
    case ElementwiseKernel::kAdd:
    case ElementwiseKernel::kSwigluForward:
    case ElementwiseKernel::kSgd:
    case ElementwiseKernel::kGeluBackward:
      return {2, 1};
    case ElementwiseKernel::kNormForward:
      return {2, 2};
    case ElementwiseKernel::kNormBackward:
      return {3, 1};
    case ElementwiseKernel::kSwigluBackward:
      return {3, 2};
    case ElementwiseKernel::kNormWeightBackward:
      return {2, 0};
    case ElementwiseKernel::kLossStatistics:
    case ElementwiseKernel::kSumOfSquares:
    case ElementwiseKernel::kBiasBackward:
    case ElementwiseKernel::kPositionBackward:
      return {1, 0};
    case ElementwiseKernel::kAdamW:
      return {4, 3};
    case ElementwiseKernel::kZero:
      return {0, 1};
  }
  return {};
}

// Each `every`-th of the first `count` cases in another type.
template <class Case>
void add_in(std::vector<Case>& cases, std::size_t count, DataType type, std::size_t every) {
  for (std::size_t i = 0; i < count; i += every) {
    cases.push_back(cases[i]);
    cases.back().type = type;
  }
}

// Of types that the CPU computes in another. Divides none of the lattice's sides, so that all of their values occur.
constexpr std::size_t kSparse = 5;

}  // namespace

Elementwise elementwise_case(ElementwiseKernel kernel, std::int64_t elements) {
  const Traffic floats = traffic(kernel);
  return {kernel, elements, ByteCount(4 * floats.read * elements), ByteCount(4 * floats.written * elements)};
}

KernelCases calibration_cases() {
  KernelCases cases{gemm_cases(), attention_cases(), {}};
  const std::size_t gemms = cases.gemms.size(), attentions = cases.attentions.size();
  add_in(cases.gemms, gemms, DataType::kBf16, 1);
  add_in(cases.attentions, attentions, DataType::kBf16, 1);
  add_in(cases.gemms, gemms, DataType::kFp16, kSparse);
  add_in(cases.attentions, attentions, DataType::kFp16, kSparse);
  add_in(cases.gemms, gemms, DataType::kFp8, kSparse);
  for (int kernel = 0; kernel < kElementwiseKernels; ++kernel) {
    for (const std::int64_t elements : {1 << 12, 1 << 14, 1 << 16, 1 << 18, 1 << 20, 1 << 22}) {
      cases.elementwise.push_back(elementwise_case(static_cast<ElementwiseKernel>(kernel), elements));
    }
  }
  return cases;
}

}  // namespace trainyard::executor
