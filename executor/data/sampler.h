// Which text each micro-batch of each step trains on. One clock of data: a sample's number is global,
//
//   sample = step * B + d * (accumulation * micro_batch) + j * micro_batch + k
//
// for sequence k of micro-batch j on data-parallel rank d, with B sequences per step. So a step trains on the
// same samples under every layout. Sample s is window Permutation(seed, s / n)(s mod n) of the n
// non-overlapping windows of the training text: each epoch shows every window once.
#pragma once

#include <cstdint>
#include <span>

#include "core/plan/plan.h"
#include "executor/data/step_tokens.h"

namespace trainyard::executor {

// Windows of sequence inputs and as many targets, one moved on.
std::int64_t window_count(std::span<const std::uint8_t> text, std::int64_t sequence);

StepTokens training_tokens(std::span<const std::uint8_t> text, const Plan& plan, std::int64_t step, int data_index);

// Batch `batch` of the held-back text, windows in order; after the last the first follows again, so that a
// short text still fills a batch.
StepTokens evaluation_tokens(std::span<const std::uint8_t> text, const Plan& plan, std::int64_t batch, int data_index);

}  // namespace trainyard::executor
