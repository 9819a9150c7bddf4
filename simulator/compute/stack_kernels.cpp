#include "simulator/compute/stack_kernels.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/error.h"
#include "core/program/storage_type.h"
#include "simulator/throughput/attention_time.h"
#include "simulator/throughput/elementwise_time.h"
#include "simulator/throughput/expert_time.h"
#include "simulator/throughput/gemm_time.h"
#include "simulator/throughput/update_time.h"

namespace trainyard::simulator {

namespace {

constexpr double kVocabularyUnit = 128.0;
constexpr double kEmbeddingBytes = 4.0;  // a row read and written, in 16 bits

double real(std::int64_t value) { return static_cast<double>(value); }

}  // namespace

StackKernels::StackKernels(MachineRates rates, const ModelSpec& model, const Layout& layout)
    : rates_(std::move(rates)),
      accumulation_bytes_(rates_.accumulation_bytes(real(size_of(layout.gradient_type)))),
      scores_again_(layout.recompute == Recompute::kSelective && rates_.attention.kernel == AttentionKernel::kUnfused),
      vocabulary_(real(model.vocabulary) / layout.tensor),
      padded_(std::ceil(vocabulary_ / kVocabularyUnit) * kVocabularyUnit) {
  const double queries = real(model.heads);
  const double keys = model.latent_attention ? queries : real(model.key_value_heads);
  if (model.experts && model.experts->expert_bias) {
    activation_bytes_ = expert_activation_bytes(model, rates_);
  }
  projected_ = model.latent_attention ? 1.0 : (queries + 2.0 * keys) / (queries + keys);
}

Seconds StackKernels::gemm(const Gemm& gemm) const {
  if (gemm.batch == 0 || gemm.m == 0 || gemm.n == 0 || gemm.k == 0) {
    return Seconds();
  }
  GemmShape shape{real(gemm.m), real(gemm.n), real(gemm.k)};
  for (double* size : {&shape.m, &shape.n, &shape.k}) {
    if (is_vocabulary(*size)) {
      *size = padded_;
    }
  }
  const bool narrow = wide_type(gemm.type) != gemm.type;
  const GemmRate& rate = narrow ? rates_.linear : rates_.wide;
  Seconds time = gemm.batch > 1 ? grouped_gemm_time(shape, real(gemm.batch), rate) : gemm_time(shape, rate);
  if (gemm.transpose == Transpose::kTN) {
    time += from_si<Bytes>(accumulation_bytes_ * real(gemm.batch) * shape.m * shape.n) / rates_.memory;
  } else if (narrow) {
    time += from_si<Bytes>(rates_.cast_bytes * real(gemm.batch) * shape.m * shape.k) / rates_.memory;
  }
  return time;
}

Seconds StackKernels::attention(const Attention& attention) const {
  AttentionShape shape;
  shape.sequences = real(attention.sequences);
  shape.queries = real(attention.queries);
  shape.keys = real(attention.keys);
  shape.kept = attention.mask == AttentionMask::kNone ? shape.keys : kept_keys(shape.keys, real(attention.window));
  shape.heads = real(attention.query_heads);
  shape.key_size = real(attention.head_size);
  shape.value_size = real(attention.values());
  const Seconds forward = attention_forward_time(shape, rates_.attention);
  if (attention.pass == AttentionPass::kForward) {
    return forward;
  }
  return attention_backward_time(shape, rates_.attention) + (scores_again_ ? forward : Seconds());
}

// Between the products of a feed-forward.
double StackKernels::activation(const Elementwise& pass) const {
  const bool gated =
      pass.kernel == ElementwiseKernel::kSwigluForward || pass.kernel == ElementwiseKernel::kSwigluBackward;
  const bool forward =
      pass.kernel == ElementwiseKernel::kSwigluForward || pass.kernel == ElementwiseKernel::kGeluForward;
  const double passes = forward ? 1.0 : 2.0;
  if (activation_bytes_) {
    return passes * *activation_bytes_ * real(pass.elements);
  }
  ElementwiseWork work;
  work.fused = rates_.fused;
  work.tokens = real(pass.elements);
  work.gated = gated;
  work.feed_forward = passes;
  return elementwise_bytes(work);
}

double StackKernels::bytes(const Elementwise& pass) const {
  const double n = real(pass.elements);
  ElementwiseWork work;
  work.fused = rates_.fused;
  switch (pass.kernel) {
    case ElementwiseKernel::kEmbedForward:
      return kEmbeddingBytes * n;
    case ElementwiseKernel::kEmbedBackward:
      return 2.0 * kEmbeddingBytes * n;
    case ElementwiseKernel::kNormForward:
    case ElementwiseKernel::kNormBackward:
      work.norm_tokens = n;
      work.hidden = pass.kernel == ElementwiseKernel::kNormForward ? 0.5 : 1.0;
      return elementwise_bytes(work);
    case ElementwiseKernel::kRopeForward:
    case ElementwiseKernel::kRopeBackward:
      work.tokens = n;
      work.projected = (pass.kernel == ElementwiseKernel::kRopeForward ? 1.0 : 2.0) * projected_;
      return elementwise_bytes(work);
    case ElementwiseKernel::kSwigluForward:
    case ElementwiseKernel::kSwigluBackward:
    case ElementwiseKernel::kGeluForward:
    case ElementwiseKernel::kGeluBackward:
      return activation(pass);
    case ElementwiseKernel::kLossStatistics:
      return loss_bytes_per_logit(rates_.fused) / 3.0 * n;
    case ElementwiseKernel::kLossGradient:
      return loss_bytes_per_logit(rates_.fused) / 1.5 * n;
    case ElementwiseKernel::kCopy:
    case ElementwiseKernel::kAdd:
      return 0.5 * rates_.token_bytes * n;
    case ElementwiseKernel::kNormWeightBackward:
    case ElementwiseKernel::kBiasBackward:
    case ElementwiseKernel::kPositionForward:
    case ElementwiseKernel::kPositionBackward:
      return 0.0;  // counted with the input's, or with the tables
    case ElementwiseKernel::kSumOfSquares:
      return kNormBytes * n;
    case ElementwiseKernel::kAdamW:
    case ElementwiseKernel::kSgd:
      return kUpdateBytes * n;
    case ElementwiseKernel::kZero:
      return real(pass.written.value());
  }
  check(false, "unknown kernel");
  return 0.0;
}

Seconds StackKernels::time(const Operation& operation) const {
  if (const auto* product = std::get_if<Gemm>(&operation)) {
    return gemm(*product);
  }
  if (const auto* scores = std::get_if<Attention>(&operation)) {
    return attention(*scores);
  }
  return from_si<Bytes>(bytes(std::get<Elementwise>(operation))) / rates_.memory;
}

}  // namespace trainyard::simulator
