// Launchers of the kernel bodies (executor/kernel) on the CPU: they cut the work into tiles and give those to
// the pool. They block until done. Arguments as in device.h, which documents shapes and types.
#pragma once

#include <cstdint>

#include "executor/device/device.h"
#include "executor/device/matrix_product.h"
#include "executor/device/scratch_pool.h"
#include "executor/device/thread_pool.h"

namespace trainyard::executor::cpu {

void attention_forward(ThreadPool& pool, ScratchPool& scratch, MatrixProductCounter& counter,
                       const Attention& attention, ConstValues qkv, Values out, float* log_sum_exp);
void attention_backward(ThreadPool& pool, ScratchPool& scratch, MatrixProductCounter& counter,
                        const Attention& attention, ConstValues qkv, ConstValues out, const float* log_sum_exp,
                        ConstValues out_grad, Values qkv_grad);

void embed_forward(ThreadPool& pool, const std::int32_t* tokens, ConstValues table, Values out, std::int64_t t,
                   std::int64_t h, std::int64_t first_row, std::int64_t rows);
void embed_backward(ThreadPool& pool, const std::int32_t* tokens, ConstValues out_grad, Values table_grad,
                    std::int64_t t, std::int64_t h, std::int64_t first_row, std::int64_t rows);
void position_forward(ThreadPool& pool, ConstValues positions, Values out, std::int64_t t, std::int64_t h,
                      std::int64_t sequence);
void position_backward(ThreadPool& pool, ConstValues out_grad, Values positions_grad, std::int64_t t, std::int64_t h,
                       std::int64_t sequence, bool accumulate);
void add(ThreadPool& pool, ConstValues a, ConstValues b, Values out, std::int64_t elements);
// values [t, n] += bias [n] on every row.
void add_bias(ThreadPool& pool, ConstValues bias, Values values, std::int64_t t, std::int64_t n);
void bias_backward(ThreadPool& pool, ConstValues grad, Values bias_grad, std::int64_t t, std::int64_t n,
                   bool accumulate);
// direction: 1 forward, -1 backward.
void rope(ThreadPool& pool, const RopeShape& shape, Values qkv, float direction);
void swiglu_forward(ThreadPool& pool, ConstValues gate_up, Values activated, std::int64_t t, std::int64_t f);
void swiglu_backward(ThreadPool& pool, ConstValues gate_up, ConstValues activated_grad, Values gate_up_grad,
                     std::int64_t t, std::int64_t f);
void gelu_forward(ThreadPool& pool, ConstValues in, Values activated, std::int64_t elements);
void gelu_backward(ThreadPool& pool, ConstValues in, ConstValues activated_grad, Values in_grad, std::int64_t elements);

void norm_forward(ThreadPool& pool, ConstValues residual, ConstValues branch, ConstValues weight, Values sum,
                  Values normed, float* rstd, std::int64_t t, std::int64_t h, float epsilon);
void norm_backward(ThreadPool& pool, ConstValues normed_grad, ConstValues residual, const float* rstd,
                   ConstValues weight, ConstValues incoming, Values residual_grad, std::int64_t t, std::int64_t h);
void norm_weight_backward(ThreadPool& pool, ConstValues normed_grad, ConstValues residual, const float* rstd,
                          Values weight_grad, std::int64_t t, std::int64_t h, bool accumulate);
void layer_norm_forward(ThreadPool& pool, ConstValues residual, ConstValues branch, ConstValues weight,
                        ConstValues bias, Values sum, Values normed, float* moments, std::int64_t t, std::int64_t h,
                        float epsilon);
void layer_norm_backward(ThreadPool& pool, ConstValues normed_grad, ConstValues residual, const float* moments,
                         ConstValues weight, ConstValues incoming, Values residual_grad, std::int64_t t,
                         std::int64_t h);
void layer_norm_weight_backward(ThreadPool& pool, ConstValues normed_grad, ConstValues residual, const float* moments,
                                Values weight_grad, Values bias_grad, std::int64_t t, std::int64_t h, bool accumulate);

void loss_statistics(ThreadPool& pool, ConstValues logits, const std::int32_t* targets, float* statistics,
                     std::int64_t t, std::int64_t v, std::int64_t first_row);
void loss_gradient(ThreadPool& pool, Values logits, const std::int32_t* targets, const float* statistics, int parts,
                   std::int64_t t, std::int64_t v, std::int64_t first_row, float scale, std::int64_t* loss_sum);

void sum_of_squares(ThreadPool& pool, ConstValues values, std::int64_t elements, std::int64_t* sum);
void adamw(ThreadPool& pool, const AdamW& options, float* master, Values working, ConstValues gradients,
           float* momentum, float* variance, const float* clip_scale, std::int64_t elements);
void sgd(ThreadPool& pool, float learning_rate, float momentum, float weight_decay, float* master, Values working,
         ConstValues gradients, float* velocity, const float* clip_scale, std::int64_t elements);
void clip_scale(const std::int64_t* sum, float limit, const GradientScale& gradients, float* scale);
// to = from, each element rounded to what fp8 holds at the scale of the whole (kernel/float8.h).
void round_to_fp8(ThreadPool& pool, const Bfloat16* from, Bfloat16* to, std::int64_t elements, bool gradient);
void copy(ThreadPool& pool, void* to, const void* from, ByteCount bytes);
void zero(ThreadPool& pool, void* memory, ByteCount bytes);

}  // namespace trainyard::executor::cpu
