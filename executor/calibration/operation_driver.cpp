#include "executor/calibration/operation_driver.h"

#include <algorithm>
#include <random>

#include "core/error.h"
#include "core/program/norm_sum.h"
#include "core/program/storage_type.h"

namespace trainyard::executor {

namespace {

constexpr std::int64_t kFloatBytes = 4;
constexpr std::int64_t kRegionAlignment = 64;  // floats
constexpr std::int64_t kPositions = 1024;      // of a sequence
// Above this the fresh operand has left the caches before it is read anyway.
constexpr std::int64_t kFreshElements = 1 << 20;

// Floats of all operands of one operation, at most.
std::int64_t operand_floats(const Operation& operation) {
  if (const auto* gemm = std::get_if<Gemm>(&operation)) {
    return gemm->m * gemm->k + gemm->k * gemm->n + gemm->m * gemm->n;
  }
  if (const auto* a = std::get_if<Attention>(&operation)) {
    return 2 * a->sequences * a->queries * (2 * a->query_heads + 2 * a->key_heads) * a->head_size;
  }
  return 6 * std::get<Elementwise>(operation).elements;
}

std::int64_t rows_of(std::int64_t elements, std::int64_t width) { return std::max<std::int64_t>(1, elements / width); }

}  // namespace

OperationDriver::OperationDriver(Device& device, const std::vector<Operation>& operations, RowWidths widths,
                                 ByteCount region)
    : device_(device), widths_(widths) {
  std::int64_t floats = region.value() / kFloatBytes;
  std::int64_t elements = 0;
  for (const Operation& operation : operations) {
    floats = std::max(floats, operand_floats(operation) + 16 * kRegionAlignment);
    if (const auto* pass = std::get_if<Elementwise>(&operation)) {
      elements = std::max(elements, pass->elements);
    }
  }
  rows_ = rows_of(elements, std::min({widths_.hidden, widths_.vocabulary, widths_.head_size}));
  const auto allocate = [&](std::int64_t count, std::int64_t size) {
    return device_.allocate(ByteCount(count * size));
  };
  inputs_ = {static_cast<float*>(allocate(floats, kFloatBytes)), floats, 0};
  outputs_ = {static_cast<float*>(allocate(floats, kFloatBytes)), floats, 0};
  tokens_ = static_cast<std::int32_t*>(allocate(rows_, 4));
  statistics_ = static_cast<float*>(allocate(3 * rows_, kFloatBytes));
  sums_ = static_cast<std::int64_t*>(allocate(kSumWords, 8));
  one_ = static_cast<float*>(allocate(1, kFloatBytes));

  std::mt19937 generator(1);
  std::normal_distribution<float> normal(0.0f, 0.5f);
  host_values_.resize(static_cast<std::size_t>(kFreshElements));
  std::generate(host_values_.begin(), host_values_.end(), [&] { return normal(generator); });
  for (std::int64_t at = 0; at < floats; at += kFreshElements) {
    const std::int64_t count = std::min(kFreshElements, floats - at);
    device_.copy_in(Stream::kCompute, inputs_.memory + at, host_values_.data(), ByteCount(count * kFloatBytes));
  }
  std::vector<std::int32_t> tokens(static_cast<std::size_t>(rows_));
  std::uniform_int_distribution<std::int32_t> token(0, static_cast<std::int32_t>(widths_.vocabulary) - 1);
  std::generate(tokens.begin(), tokens.end(), [&] { return token(generator); });
  device_.copy_in(Stream::kCompute, tokens_, tokens.data(), ByteCount(rows_ * 4));
  std::vector<float> statistics;
  for (std::int64_t row = 0; row < rows_; ++row) {
    statistics.insert(statistics.end(), {2.0f, static_cast<float>(widths_.vocabulary), 0.5f});
  }
  device_.copy_in(Stream::kCompute, statistics_, statistics.data(), ByteCount(3 * rows_ * kFloatBytes));
  const float one = 1.0f;
  device_.copy_in(Stream::kCompute, one_, &one, ByteCount(kFloatBytes));
  device_.synchronize();
}

OperationDriver::~OperationDriver() {
  for (void* memory :
       {static_cast<void*>(inputs_.memory), static_cast<void*>(outputs_.memory), static_cast<void*>(tokens_),
        static_cast<void*>(statistics_), static_cast<void*>(sums_), static_cast<void*>(one_)}) {
    device_.free(memory);
  }
}

float* OperationDriver::take(Region& region, std::int64_t elements) {
  check(elements <= region.size, "an operand fits its region");
  if (region.next + elements > region.size) {
    region.next = 0;
  }
  float* operand = region.memory + region.next;
  region.next += (elements + kRegionAlignment - 1) / kRegionAlignment * kRegionAlignment;
  return operand;
}

float* OperationDriver::freshen(float* operand, std::int64_t elements) {
  if (elements <= kFreshElements) {
    device_.copy_in(Stream::kCompute, operand, host_values_.data(), ByteCount(elements * kFloatBytes));
  }
  return operand;
}

template <class Enqueue>
void OperationDriver::timed(SliceClock* clock, const Enqueue& enqueue) {
  device_.begin_slice(Stream::kCompute, clock);
  enqueue();
  device_.end_slice(Stream::kCompute, clock);
}

void OperationDriver::enqueue(const Operation& operation, SliceClock* clock) {
  std::visit([&](const auto& op) { run(op, clock); }, operation);
}

void OperationDriver::run(const Gemm& gemm, SliceClock* clock) {
  const DataType type = storage_type(gemm.type);
  const ConstValues a(freshen(input(gemm.m * gemm.k), gemm.m * gemm.k), type);
  const ConstValues b(input(gemm.k * gemm.n), type);
  // Weight gradients stay in fp32.
  const Values c(output(gemm.m * gemm.n), gemm.transpose == Transpose::kTN ? DataType::kFp32 : type);
  timed(clock, [&] { device_.matmul(Stream::kCompute, gemm, a, b, c, {}); });
}

void OperationDriver::run(const Attention& a, SliceClock* clock) {
  const std::int64_t tokens = a.sequences * a.queries;
  const std::int64_t qkv_size = tokens * (a.query_heads + 2 * a.key_heads) * a.head_size;
  const std::int64_t out_size = tokens * a.query_heads * a.head_size;
  const std::int64_t statistics = tokens * a.query_heads;
  float* inputs = input(qkv_size);
  const ConstValues qkv(inputs, a.type);
  if (a.pass == AttentionPass::kForward) {
    freshen(inputs, qkv_size);
    const Values out(output(out_size), a.type);
    float* log_sum_exp = output(statistics);
    timed(clock, [&] { device_.attention_forward(Stream::kCompute, a, qkv, out, log_sum_exp); });
    return;
  }
  const ConstValues out(input(out_size), a.type);
  const float* log_sum_exp = input(statistics);
  const ConstValues out_grad(freshen(input(out_size), out_size), a.type);
  const Values qkv_grad(output(qkv_size), a.type);
  timed(clock, [&] { device_.attention_backward(Stream::kCompute, a, qkv, out, log_sum_exp, out_grad, qkv_grad); });
}

void OperationDriver::run(const Elementwise& pass, SliceClock* clock) {
  switch (pass.kernel) {
    case ElementwiseKernel::kLossGradient:
    case ElementwiseKernel::kSumOfSquares:
    case ElementwiseKernel::kAdamW:
    case ElementwiseKernel::kSgd:
    case ElementwiseKernel::kCopy:
    case ElementwiseKernel::kZero:
      return run_update(pass, clock);
    case ElementwiseKernel::kGeluForward:
    case ElementwiseKernel::kGeluBackward:
    case ElementwiseKernel::kBiasBackward:
    case ElementwiseKernel::kPositionForward:
    case ElementwiseKernel::kPositionBackward:
      return run_gpt2(pass, clock);
    default:
      return run_block(pass, clock);
  }
}

void OperationDriver::run_block(const Elementwise& pass, SliceClock* clock) {
  constexpr Stream s = Stream::kCompute;
  const std::int64_t n = pass.elements;
  const std::int64_t h = std::min(widths_.hidden, n), t = rows_of(n, h);
  const std::int64_t f = std::min(widths_.feed_forward, n), ft = rows_of(n, f);
  const std::int64_t v = std::min(widths_.vocabulary, n);
  // Heads of queries and keys alone, with one more of values between tokens, as in qkv.
  const std::int64_t d = widths_.head_size, heads = 4, rope_tokens = rows_of(n, heads * d);
  const RopeShape rope{rope_tokens, rope_tokens, heads - 1, 1, d, inputs_.memory, inputs_.memory + 1};
  const std::int64_t rope_size = rope_tokens * (heads + 1) * d;
  switch (pass.kernel) {
    case ElementwiseKernel::kEmbedForward: {
      const float* table = input(widths_.vocabulary * h);
      float* out = output(n);
      return timed(clock, [&] { device_.embed_forward(s, tokens_, table, out, t, h, 0, widths_.vocabulary); });
    }
    case ElementwiseKernel::kEmbedBackward: {
      const float* grad = freshen(input(n), n);
      float* table = output(widths_.vocabulary * h);
      return timed(clock, [&] { device_.embed_backward(s, tokens_, grad, table, t, h, 0, widths_.vocabulary); });
    }
    case ElementwiseKernel::kAdd: {
      const float *a = input(n), *b = freshen(input(n), n);
      float* out = output(n);
      return timed(clock, [&] { device_.add(s, a, b, out, n); });
    }
    case ElementwiseKernel::kNormForward: {
      const float *residual = input(n), *branch = freshen(input(n), n), *weight = input(h);
      float *sum = output(n), *normed = output(n), *rstd = output(t);
      return timed(clock, [&] { device_.norm_forward(s, residual, branch, weight, sum, normed, rstd, t, h, 1e-5f); });
    }
    case ElementwiseKernel::kNormBackward: {
      const float *residual = input(n), *grad = freshen(input(n), n), *weight = input(h), *rstd = input(t);
      float* residual_grad = output(n);
      return timed(clock,
                   [&] { device_.norm_backward(s, grad, residual, rstd, weight, residual_grad, residual_grad, t, h); });
    }
    case ElementwiseKernel::kNormWeightBackward: {
      const float *residual = input(n), *grad = freshen(input(n), n), *rstd = input(t);
      float* weight_grad = output(h);
      return timed(clock, [&] { device_.norm_weight_backward(s, grad, residual, rstd, weight_grad, t, h, true); });
    }
    case ElementwiseKernel::kRopeForward: {
      float* qkv = freshen(output(rope_size), rope_size);
      return timed(clock, [&] { device_.rope_forward(s, rope, qkv); });
    }
    case ElementwiseKernel::kRopeBackward: {
      float* qkv = freshen(output(rope_size), rope_size);
      return timed(clock, [&] { device_.rope_backward(s, rope, qkv); });
    }
    case ElementwiseKernel::kSwigluForward: {
      const float* gate_up = freshen(input(2 * n), 2 * n);
      float* activated = output(n);
      return timed(clock, [&] { device_.swiglu_forward(s, gate_up, activated, ft, f); });
    }
    case ElementwiseKernel::kSwigluBackward: {
      const float *gate_up = input(2 * n), *grad = freshen(input(n), n);
      float* gate_up_grad = output(2 * n);
      return timed(clock, [&] { device_.swiglu_backward(s, gate_up, grad, gate_up_grad, ft, f); });
    }
    case ElementwiseKernel::kLossStatistics: {
      const float* logits = freshen(input(n), n);
      float* statistics = output(3 * rows_of(n, v));
      return timed(clock, [&] { device_.loss_statistics(s, logits, tokens_, statistics, rows_of(n, v), v, 0); });
    }
    default:
      check(false, "a kernel of a block");
  }
}

// What GPT-2 has and Llama doesn't.
void OperationDriver::run_gpt2(const Elementwise& pass, SliceClock* clock) {
  constexpr Stream s = Stream::kCompute;
  const std::int64_t n = pass.elements;
  const std::int64_t h = std::min(widths_.hidden, n), t = rows_of(n, h);
  const std::int64_t sequence = std::min(t, kPositions);
  switch (pass.kernel) {
    case ElementwiseKernel::kGeluForward: {
      const float* in = freshen(input(n), n);
      float* activated = output(n);
      return timed(clock, [&] { device_.gelu_forward(s, in, activated, n); });
    }
    case ElementwiseKernel::kGeluBackward: {
      const float *in = input(n), *grad = freshen(input(n), n);
      float* in_grad = output(n);
      return timed(clock, [&] { device_.gelu_backward(s, in, grad, in_grad, n); });
    }
    case ElementwiseKernel::kBiasBackward: {
      const float* grad = freshen(input(n), n);
      float* bias_grad = output(h);
      return timed(clock, [&] { device_.bias_backward(s, grad, bias_grad, t, h, true); });
    }
    case ElementwiseKernel::kPositionForward: {
      const float* positions = input(sequence * h);
      float* out = freshen(output(n), n);
      return timed(clock, [&] { device_.position_forward(s, positions, out, t, h, sequence); });
    }
    case ElementwiseKernel::kPositionBackward: {
      const float* grad = freshen(input(n), n);
      float* positions_grad = output(sequence * h);
      return timed(clock, [&] { device_.position_backward(s, grad, positions_grad, t, h, sequence, true); });
    }
    default:
      check(false, "a kernel of GPT-2's");
  }
}

void OperationDriver::run_update(const Elementwise& pass, SliceClock* clock) {
  constexpr Stream s = Stream::kCompute;
  const std::int64_t n = pass.elements;
  const std::int64_t v = std::min(widths_.vocabulary, n), t = rows_of(n, v);
  switch (pass.kernel) {
    case ElementwiseKernel::kLossGradient: {
      float* logits = freshen(output(n), n);
      return timed(clock, [&] { device_.loss_gradient(s, logits, tokens_, statistics_, 1, t, v, 0, 1.0f, sums_); });
    }
    case ElementwiseKernel::kSumOfSquares: {
      const float* values = input(n);
      return timed(clock, [&] { device_.sum_of_squares(s, values, n, sums_); });
    }
    case ElementwiseKernel::kAdamW: {
      const AdamW options{1e-4f, 0.9f, 0.95f, 1e-8f, 0.1f, 0.1f, 0.05f};
      const float* gradients = input(n);
      float *parameters = output(n), *momentum = output(n), *variance = output(n);
      return timed(clock, [&] { device_.adamw(s, options, parameters, {}, gradients, momentum, variance, one_, n); });
    }
    case ElementwiseKernel::kSgd: {
      const bool heavy = pass.written.value() > n * kFloatBytes;
      const float* gradients = input(n);
      float *parameters = output(n), *velocity = heavy ? output(n) : nullptr;
      return timed(clock, [&] { device_.sgd(s, 1e-4f, 0.9f, 0.0f, parameters, {}, gradients, velocity, one_, n); });
    }
    case ElementwiseKernel::kCopy: {
      const float* from = input(n);
      float* to = output(n);
      return timed(clock, [&] { device_.copy_in(s, to, from, ByteCount(n * kFloatBytes)); });
    }
    case ElementwiseKernel::kZero: {
      float* memory = output(n);
      return timed(clock, [&] { device_.zero(s, memory, ByteCount(n * kFloatBytes)); });
    }
    default:
      check(false, "a kernel of an update");
  }
}

}  // namespace trainyard::executor
