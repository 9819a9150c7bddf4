// The device's kernels as plain loops in fp64, for comparison. Shapes and meanings as in
// executor/device/device.h.
#pragma once

#include <cstdint>
#include <vector>

#include "core/program/operation.h"
#include "executor/device/device.h"

namespace trainyard::reference {

using Values = std::vector<double>;
using Tokens = std::vector<std::int32_t>;

Values matmul(Transpose transpose, std::int64_t m, std::int64_t n, std::int64_t k, const Values& a, const Values& b);

struct AttentionResult {
  Values out;
  Values log_sum_exp;
};
AttentionResult attention_forward(const Attention& attention, const Values& qkv);
Values attention_backward(const Attention& attention, const Values& qkv, const Values& out_grad);

Values embed_forward(const Tokens& tokens, const Values& table, std::int64_t h, std::int64_t first_row);
Values embed_backward(const Tokens& tokens, const Values& out_grad, Values table_grad, std::int64_t h,
                      std::int64_t first_row);

struct NormResult {
  Values normed;
  Values rstd;
};
NormResult norm_forward(const Values& x, const Values& weight, double epsilon);
struct NormGradients {
  Values x;
  Values weight;
};
NormGradients norm_backward(const Values& normed_grad, const Values& x, const Values& weight, double epsilon);

// angle of position p and pair i: p / 10000^(2 i / d). direction -1: backward.
Values rope(const executor::RopeShape& shape, Values qkv, double direction);

Values swiglu_forward(const Values& gate_up, std::int64_t f);
Values swiglu_backward(const Values& gate_up, const Values& activated_grad, std::int64_t f);

struct LossResult {
  double sum = 0.0;  // over tokens, nats
  Values gradient;   // of the sum
};
LossResult loss(const Values& logits, const Tokens& targets, std::int64_t vocabulary);

}  // namespace trainyard::reference
