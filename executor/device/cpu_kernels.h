// Launchers of the kernel bodies (executor/kernel) on the CPU: they cut the work into tiles and give those to
// the pool. They block until done. Arguments as in device.h, which documents shapes.
#pragma once

#include <cstdint>

#include "executor/device/device.h"
#include "executor/device/matrix_product.h"
#include "executor/device/scratch_pool.h"
#include "executor/device/thread_pool.h"

namespace trainyard::executor::cpu {

void attention_forward(ThreadPool& pool, ScratchPool& scratch, MatrixProductCounter& counter,
                       const Attention& attention, const float* qkv, float* out, float* log_sum_exp);
void attention_backward(ThreadPool& pool, ScratchPool& scratch, MatrixProductCounter& counter,
                        const Attention& attention, const float* qkv, const float* out, const float* log_sum_exp,
                        const float* out_grad, float* qkv_grad);

void embed_forward(ThreadPool& pool, const std::int32_t* tokens, const float* table, float* out, std::int64_t t,
                   std::int64_t h, std::int64_t first_row, std::int64_t rows);
void embed_backward(ThreadPool& pool, const std::int32_t* tokens, const float* out_grad, float* table_grad,
                    std::int64_t t, std::int64_t h, std::int64_t first_row, std::int64_t rows);
void add(ThreadPool& pool, const float* a, const float* b, float* out, std::int64_t elements);
void norm_forward(ThreadPool& pool, const float* residual, const float* branch, const float* weight, float* sum,
                  float* normed, float* rstd, std::int64_t t, std::int64_t h, float epsilon);
void norm_backward(ThreadPool& pool, const float* normed_grad, const float* residual, const float* rstd,
                   const float* weight, const float* incoming, float* residual_grad, std::int64_t t, std::int64_t h);
void norm_weight_backward(ThreadPool& pool, const float* normed_grad, const float* residual, const float* rstd,
                          float* weight_grad, std::int64_t t, std::int64_t h, bool accumulate);
// direction: 1 forward, -1 backward.
void rope(ThreadPool& pool, const RopeShape& shape, float* qkv, float direction);
void swiglu_forward(ThreadPool& pool, const float* gate_up, float* activated, std::int64_t t, std::int64_t f);
void swiglu_backward(ThreadPool& pool, const float* gate_up, const float* activated_grad, float* gate_up_grad,
                     std::int64_t t, std::int64_t f);
void loss_statistics(ThreadPool& pool, const float* logits, const std::int32_t* targets, float* statistics,
                     std::int64_t t, std::int64_t v, std::int64_t first_row);
void loss_gradient(ThreadPool& pool, float* logits, const std::int32_t* targets, const float* statistics, int parts,
                   std::int64_t t, std::int64_t v, std::int64_t first_row, float scale, std::int64_t* loss_sum);

void sum_of_squares(ThreadPool& pool, const float* values, std::int64_t elements, std::int64_t* sum);
void adamw(ThreadPool& pool, const AdamW& options, float* parameters, const float* gradients, float* momentum,
           float* variance, const float* clip_scale, std::int64_t elements);
void sgd(ThreadPool& pool, float learning_rate, float momentum, float weight_decay, float* parameters,
         const float* gradients, float* velocity, const float* clip_scale, std::int64_t elements);
void clip_scale(const std::int64_t* sum, float limit, float* scale);
void copy(ThreadPool& pool, void* to, const void* from, ByteCount bytes);
void zero(ThreadPool& pool, void* memory, ByteCount bytes);

}  // namespace trainyard::executor::cpu
