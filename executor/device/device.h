// Device: where a rank's kernels run. Asynchronous on the CPU as on a GPU.
//
// Every call that takes a Stream enqueues and returns; work on one stream runs in order, work on different
// streams may overlap. Pointers are device memory and must stay valid until the work has run. Calls are made
// from one host thread. An exception inside enqueued work stops the device: later work is skipped, and
// synchronize() rethrows the first.
//
// Kernels are documented with shapes (row-major, t tokens, h hidden) and the bytes they move. All fp32.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "core/program/instruction.h"
#include "core/program/operation.h"
#include "core/units/count.h"
#include "core/units/quantity.h"

namespace trainyard::executor {

// A point in a stream's work that other streams, or the host, can wait for.
class Event {
 public:
  virtual ~Event() = default;
};
using EventHandle = std::shared_ptr<Event>;

// Filled in when the stream reaches it; read after synchronize(). Clock of the device, common to its
// streams (on the CPU: CLOCK_MONOTONIC, so that ranks of one host share it).
struct SliceClock {
  Nanoseconds begin = 0;
  Nanoseconds end = 0;
};

// Counted at the call to the matrix product, by code that cannot see the program.
struct DeviceCounters {
  FlopCount flops;
  std::int64_t matmuls = 0;
};

struct RopeShape {
  std::int64_t tokens = 0;  // t; position of token i is i % sequence
  std::int64_t sequence = 0;
  std::int64_t query_heads = 0;
  std::int64_t key_heads = 0;
  std::int64_t head_size = 0;
  const float* cosines = nullptr;  // [sequence, head_size / 2], device memory
  const float* sines = nullptr;
};

struct AdamW {
  float learning_rate = 0;
  float beta1 = 0, beta2 = 0, epsilon = 0, weight_decay = 0;
  float bias_correction1 = 1, bias_correction2 = 1;  // 1 - beta^step
};

class Device {
 public:
  virtual ~Device() = default;

  virtual std::string name() const = 0;

  // Memory. Zeroed, touched, on huge pages where the device has them; kept until freed, never returned
  // between steps. allocated() is the sum of the sizes asked for.
  virtual void* allocate(ByteCount bytes) = 0;
  virtual void free(void* memory) = 0;
  virtual ByteCount allocated() const = 0;
  virtual void copy_in(Stream stream, void* to, const void* from_host, ByteCount bytes) = 0;
  virtual void copy_out(Stream stream, void* to_host, const void* from, ByteCount bytes) = 0;

  // Order.
  virtual EventHandle record(Stream stream) = 0;
  virtual void wait(Stream stream, const EventHandle& event) = 0;
  virtual void synchronize() = 0;  // blocks until all streams are empty; rethrows
  virtual void begin_slice(Stream stream, SliceClock* clock) = 0;
  virtual void end_slice(Stream stream, SliceClock* clock) = 0;
  // Runs on the stream; may block it (a collective over host memory does), not the host.
  virtual void host_function(Stream stream, std::function<void()> function) = 0;

  virtual DeviceCounters counters() const = 0;  // of finished work

  // C (+)= A B with the storage that gemm.transpose names: kNN A[m,k] B[k,n], kNT A[m,k] B[n,k],
  // kTN A[k,m] B[k,n]; C[m,n]; batch must be 1.
  virtual void matmul(Stream stream, const Gemm& gemm, const float* a, const float* b, float* c) = 0;

  // qkv [t, (a + 2 g) d], out [t, a d], log_sum_exp [sequences, a, queries]. Query head j uses key head
  // j / (a / g).
  virtual void attention_forward(Stream stream, const Attention& attention, const float* qkv, float* out,
                                 float* log_sum_exp) = 0;
  // Writes qkv_grad whole.
  virtual void attention_backward(Stream stream, const Attention& attention, const float* qkv, const float* out,
                                  const float* log_sum_exp, const float* out_grad, float* qkv_grad) = 0;

  // out[i] = table[token[i] - first_row], zero for tokens outside [first_row, first_row + rows).
  virtual void embed_forward(Stream stream, const std::int32_t* tokens, const float* table, float* out, std::int64_t t,
                             std::int64_t h, std::int64_t first_row, std::int64_t rows) = 0;
  // table_grad[token[i] - first_row] += out_grad[i], in the order of i.
  virtual void embed_backward(Stream stream, const std::int32_t* tokens, const float* out_grad, float* table_grad,
                              std::int64_t t, std::int64_t h, std::int64_t first_row, std::int64_t rows) = 0;
  virtual void add(Stream stream, const float* a, const float* b, float* out, std::int64_t elements) = 0;
  // sum = residual + branch (branch null: sum is not written and residual is used); rstd = 1 / sqrt(mean(sum^2) + eps);
  // normed = sum * rstd * weight.
  virtual void norm_forward(Stream stream, const float* residual, const float* branch, const float* weight, float* sum,
                            float* normed, float* rstd, std::int64_t t, std::int64_t h, float epsilon) = 0;
  // residual_grad = incoming + d normed / d residual; incoming may be null or equal residual_grad.
  virtual void norm_backward(Stream stream, const float* normed_grad, const float* residual, const float* rstd,
                             const float* weight, const float* incoming, float* residual_grad, std::int64_t t,
                             std::int64_t h) = 0;
  // weight_grad (+)= sum over tokens of normed_grad * residual * rstd.
  virtual void norm_weight_backward(Stream stream, const float* normed_grad, const float* residual, const float* rstd,
                                    float* weight_grad, std::int64_t t, std::int64_t h, bool accumulate) = 0;
  // In place on the queries and keys of qkv; rotate-half convention (pairs i, i + d/2).
  virtual void rope_forward(Stream stream, const RopeShape& shape, float* qkv) = 0;
  virtual void rope_backward(Stream stream, const RopeShape& shape, float* qkv_grad) = 0;
  // gate_up [t, 2 f]: gate first. activated = gate * sigmoid(gate) * up.
  virtual void swiglu_forward(Stream stream, const float* gate_up, float* activated, std::int64_t t,
                              std::int64_t f) = 0;
  virtual void swiglu_backward(Stream stream, const float* gate_up, const float* activated_grad, float* gate_up_grad,
                               std::int64_t t, std::int64_t f) = 0;
  // statistics [t, 3]: maximum, sum of exp(logit - maximum), target's logit or -inf when the target is not
  // in [first_row, first_row + v).
  virtual void loss_statistics(Stream stream, const float* logits, const std::int32_t* targets, float* statistics,
                               std::int64_t t, std::int64_t v, std::int64_t first_row) = 0;
  // statistics [parts, t, 3] of all vocabulary slices. Adds the summed loss of the t tokens, in nats, to the
  // fixed-point accumulator loss_sum (norm_sum.h) where not null; turns logits into
  // (softmax - onehot) * scale in place unless scale is 0.
  virtual void loss_gradient(Stream stream, float* logits, const std::int32_t* targets, const float* statistics,
                             int parts, std::int64_t t, std::int64_t v, std::int64_t first_row, float scale,
                             std::int64_t* loss_sum) = 0;
  // Adds the sum of squares of `elements` values, in blocks of kNormBlock from the first, to the accumulator.
  virtual void sum_of_squares(Stream stream, const float* values, std::int64_t elements, std::int64_t* sum) = 0;
  // gradient is scaled by *clip_scale (device memory, one float) first.
  virtual void adamw(Stream stream, const AdamW& options, float* parameters, const float* gradients, float* momentum,
                     float* variance, const float* clip_scale, std::int64_t elements) = 0;
  // velocity = momentum * velocity + gradient; parameters -= rate * (velocity + decay * parameters).
  // velocity null: plain SGD.
  virtual void sgd(Stream stream, float learning_rate, float momentum, float weight_decay, float* parameters,
                   const float* gradients, float* velocity, const float* clip_scale, std::int64_t elements) = 0;
  // *scale = min(1, limit / (sqrt(sum) + 1e-6)) from a reduced accumulator; 1 where limit is 0.
  virtual void clip_scale(Stream stream, const std::int64_t* sum, float limit, float* scale) = 0;
  virtual void zero(Stream stream, void* memory, ByteCount bytes) = 0;
};

}  // namespace trainyard::executor
