// The small models and the layouts that the parity tests run.
#pragma once

#include <string>
#include <vector>

#include "core/plan/plan.h"

namespace trainyard::executor {

// 4 layers of 64; a vocabulary of 259 divides over nothing; grouped-query attention unless tensor
// parallelism needs more key heads.
Plan small_plan(const Layout& layout, OptimizerKind optimizer = OptimizerKind::kAdamW);

// GPT-2 of the same size, 4 heads. Plans take the small plan's everything else.
ModelSpec small_gpt2(bool tied);

// One rank, a sequence at a time, with the model that `layout` gets.
Plan reference_plan(const Plan& plan);

// The small plan's 8 sequences a step one by one, ZeRO 1 where there are data ranks.
Layout layout_of_degrees(int tensor, int pipeline, int data);

// One rank in bf16 mixed precision, with fp32 gradients.
Layout bf16_layout();

// The same in fp16.
Layout fp16_layout();

// Every layout of 1, 2 and 4 ranks: tp x pp x dp, with the switches that apply to each (ZeRO 0 and 1, GPipe
// and 1F1B, micro-batches of 1 and 2, overlap on and off, strict on and off), and some with recomputation
// and with all gradients in one bucket.
std::vector<Layout> all_layouts();

// "tp2 pp2 1f1b mbs1 ga8" as a test name: letters, digits and underscores.
std::string test_name(const Layout& layout);

}  // namespace trainyard::executor
