// Device: where a rank's kernels run. Asynchronous on the CPU as on a GPU.
//
// Every call that takes a Stream enqueues and returns; work on one stream runs in order, work on different
// streams may overlap. Pointers are device memory and must stay valid until the work has run. Calls are made
// from one host thread. An exception inside enqueued work stops the device: later work is skipped, and
// synchronize() rethrows the first.
//
// Kernels are documented with shapes (row-major, t tokens, h hidden); the bytes they move stand with their bodies in
// executor/kernel.
//
// Types. One call's activations, activation gradients and parameters share one type: fp32, bf16 or fp16. Parameter
// gradients (table_grad, weight_grad, bias_grad, positions_grad, the C of a product) are of that type or fp32.
// Statistics, optimizer state and master parameters are fp32: float pointers. Arithmetic is fp32 whatever is stored; a
// result is rounded once, when it is written.
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
#include "executor/device/values.h"
#include "executor/kernel/optimizer.h"

namespace trainyard::executor {

// A point in a stream's work that other streams, or the host, can wait for.
class Event {
 public:
  virtual ~Event() = default;
};
using EventHandle = std::shared_ptr<Event>;

// Calls that Device::capture() has kept.
class CapturedWork {
 public:
  virtual ~CapturedWork() = default;
};

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
  // Host memory that copies reach at full speed and without holding up the host: pinned, where the device has a bus.
  // Not in allocated(); not zeroed.
  virtual void* allocate_host(ByteCount bytes) = 0;
  virtual void free_host(void* memory) = 0;
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

  // A part of a step that is the same in every step, made once and enqueued as a whole (on a GPU: a CUDA graph, for
  // which the driver works once and not once per kernel). capture() runs `post` and keeps its calls instead of
  // enqueueing them: kernels, products, record() and wait(), on any streams. Slices, copies from or to the host,
  // synchronize(), memory and events from outside are not for it. Null where this device, or a call in it, can't be
  // kept: then nothing has been enqueued. The memory that the calls name must outlive the work, which must not outlive
  // the device. Kernels' scratch memory must have its size: run the same calls once before.
  virtual std::unique_ptr<CapturedWork> capture(const std::function<void()>& post);
  // Enqueues it: behind all that is in Stream::kCompute, which what follows there, or waits for an event recorded
  // there, comes after.
  virtual void enqueue(const CapturedWork& work);

  // What the host enqueues in between appears under this name in a profiler's timeline (NVTX), where there is one.
  virtual void begin_range(const char* name) = 0;
  virtual void end_range() = 0;

  virtual DeviceCounters counters() const = 0;  // of finished work

  // C (+)= A B (+ bias [n] on every row; null: none) with the storage that gemm.transpose names: kNN A[m,k] B[k,n],
  // kNT A[m,k] B[n,k], kTN A[k,m] B[k,n]; C[m,n]; batch must be 1. A, B and bias are of gemm.type, C of it or fp32;
  // sums are taken in fp32. No bias where it accumulates. kFp8: of bf16 operands, each rounded to fp8 by a scale of its
  // own (kernel/float8.h) first.
  virtual void matmul(Stream stream, const Gemm& gemm, ConstValues a, ConstValues b, Values c, ConstValues bias) = 0;

  // before = A B + bias, activated = gelu(before), as one product and one pass, or as a product that activates what it
  // writes: then activated may come from a `before` that was not yet rounded. Not for gemm.accumulate.
  virtual void matmul_gelu(Stream stream, const Gemm& gemm, ConstValues a, ConstValues b, ConstValues bias,
                           Values before, Values activated);
  // C = (A B) gelu'(before), likewise.
  virtual void matmul_gelu_backward(Stream stream, const Gemm& gemm, ConstValues a, ConstValues b, ConstValues before,
                                    Values c);

  // qkv [t, (a + 2 g) d], out [t, a d], log_sum_exp [sequences, a, queries]. Query head j uses key head
  // j / (a / g).
  virtual void attention_forward(Stream stream, const Attention& attention, ConstValues qkv, Values out,
                                 float* log_sum_exp) = 0;
  // Writes qkv_grad whole.
  virtual void attention_backward(Stream stream, const Attention& attention, ConstValues qkv, ConstValues out,
                                  const float* log_sum_exp, ConstValues out_grad, Values qkv_grad) = 0;

  // out[i] = table[token[i] - first_row], zero for tokens outside [first_row, first_row + rows).
  virtual void embed_forward(Stream stream, const std::int32_t* tokens, ConstValues table, Values out, std::int64_t t,
                             std::int64_t h, std::int64_t first_row, std::int64_t rows) = 0;
  // table_grad[token[i] - first_row] += out_grad[i], in the order of i.
  virtual void embed_backward(Stream stream, const std::int32_t* tokens, ConstValues out_grad, Values table_grad,
                              std::int64_t t, std::int64_t h, std::int64_t first_row, std::int64_t rows) = 0;
  // Learned positions [sequence, h]: out[i] += positions[i % sequence].
  virtual void position_forward(Stream stream, ConstValues positions, Values out, std::int64_t t, std::int64_t h,
                                std::int64_t sequence) = 0;
  // positions_grad[p] (+)= sum over sequences of out_grad, in their order.
  virtual void position_backward(Stream stream, ConstValues out_grad, Values positions_grad, std::int64_t t,
                                 std::int64_t h, std::int64_t sequence, bool accumulate) = 0;
  virtual void add(Stream stream, ConstValues a, ConstValues b, Values out, std::int64_t elements) = 0;
  // bias_grad [n] (+)= sum over tokens of grad [t, n].
  virtual void bias_backward(Stream stream, ConstValues grad, Values bias_grad, std::int64_t t, std::int64_t n,
                             bool accumulate) = 0;
  // RMSNorm. sum = residual + branch (branch null: sum is not written and residual is used);
  // rstd = 1 / sqrt(mean(sum^2) + eps); normed = sum * rstd * weight.
  virtual void norm_forward(Stream stream, ConstValues residual, ConstValues branch, ConstValues weight, Values sum,
                            Values normed, float* rstd, std::int64_t t, std::int64_t h, float epsilon) = 0;
  // residual_grad = incoming + d normed / d residual; incoming may be null or equal residual_grad.
  virtual void norm_backward(Stream stream, ConstValues normed_grad, ConstValues residual, const float* rstd,
                             ConstValues weight, ConstValues incoming, Values residual_grad, std::int64_t t,
                             std::int64_t h) = 0;
  // weight_grad (+)= sum over tokens of normed_grad * residual * rstd.
  virtual void norm_weight_backward(Stream stream, ConstValues normed_grad, ConstValues residual, const float* rstd,
                                    Values weight_grad, std::int64_t t, std::int64_t h, bool accumulate) = 0;
  // LayerNorm: moments [t, 2] hold mean and 1 / sqrt(mean((sum - mean)^2) + eps) of each token;
  // normed = (sum - mean) * rstd * weight + bias. The rest as RMSNorm.
  virtual void layer_norm_forward(Stream stream, ConstValues residual, ConstValues branch, ConstValues weight,
                                  ConstValues bias, Values sum, Values normed, float* moments, std::int64_t t,
                                  std::int64_t h, float epsilon) = 0;
  virtual void layer_norm_backward(Stream stream, ConstValues normed_grad, ConstValues residual, const float* moments,
                                   ConstValues weight, ConstValues incoming, Values residual_grad, std::int64_t t,
                                   std::int64_t h) = 0;
  virtual void layer_norm_weight_backward(Stream stream, ConstValues normed_grad, ConstValues residual,
                                          const float* moments, Values weight_grad, Values bias_grad, std::int64_t t,
                                          std::int64_t h, bool accumulate) = 0;
  // In place on the queries and keys of qkv; rotate-half convention (pairs i, i + d/2).
  virtual void rope_forward(Stream stream, const RopeShape& shape, Values qkv) = 0;
  virtual void rope_backward(Stream stream, const RopeShape& shape, Values qkv_grad) = 0;
  // gate_up [t, 2 f]: gate first. activated = gate * sigmoid(gate) * up.
  virtual void swiglu_forward(Stream stream, ConstValues gate_up, Values activated, std::int64_t t, std::int64_t f) = 0;
  virtual void swiglu_backward(Stream stream, ConstValues gate_up, ConstValues activated_grad, Values gate_up_grad,
                               std::int64_t t, std::int64_t f) = 0;
  // kernel/gelu.h, element by element.
  virtual void gelu_forward(Stream stream, ConstValues in, Values activated, std::int64_t elements) = 0;
  virtual void gelu_backward(Stream stream, ConstValues in, ConstValues activated_grad, Values in_grad,
                             std::int64_t elements) = 0;
  // statistics [t, 3]: maximum, sum of exp(logit - maximum), target's logit or -inf when the target is not
  // in [first_row, first_row + v).
  virtual void loss_statistics(Stream stream, ConstValues logits, const std::int32_t* targets, float* statistics,
                               std::int64_t t, std::int64_t v, std::int64_t first_row) = 0;
  // statistics [parts, t, 3] of all vocabulary slices. Adds the summed loss of the t tokens, in nats, to the
  // fixed-point accumulator loss_sum (norm_sum.h) where not null; turns logits into
  // (softmax - onehot) * scale in place unless scale is 0.
  virtual void loss_gradient(Stream stream, Values logits, const std::int32_t* targets, const float* statistics,
                             int parts, std::int64_t t, std::int64_t v, std::int64_t first_row, float scale,
                             std::int64_t* loss_sum) = 0;
  // Adds the sum of squares of `elements` values, in blocks of kNormBlock from the first, to the accumulator.
  virtual void sum_of_squares(Stream stream, ConstValues values, std::int64_t elements, std::int64_t* sum) = 0;
  // Updates `master`, the fp32 parameters; `working`, where not null, becomes their rounded copy. gradient is scaled by
  // *clip_scale (device memory, one float) first; nothing is updated where that is below 0.
  virtual void adamw(Stream stream, const AdamW& options, float* master, Values working, ConstValues gradients,
                     float* momentum, float* variance, const float* clip_scale, std::int64_t elements) = 0;
  // velocity = momentum * velocity + gradient; master -= rate * (velocity + decay * master).
  // velocity null: plain SGD. working as above.
  virtual void sgd(Stream stream, float learning_rate, float momentum, float weight_decay, float* master,
                   Values working, ConstValues gradients, float* velocity, const float* clip_scale,
                   std::int64_t elements) = 0;
  // *scale = update_factor(sqrt(sum), limit, gradients) (kernel/optimizer.h) from a reduced accumulator.
  virtual void clip_scale(Stream stream, const std::int64_t* sum, float limit, const GradientScale& gradients,
                          float* scale) = 0;
  virtual void zero(Stream stream, void* memory, ByteCount bytes) = 0;
};

}  // namespace trainyard::executor
