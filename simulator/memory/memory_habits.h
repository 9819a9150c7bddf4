// MemoryHabits: how training software uses memory where the layout leaves it open.
#pragma once

namespace trainyard::simulator {

struct MemoryHabits {
  // Scores in memory: 5 bytes each (softmax, dropout's mask and output; Korthikanti et al. 2022, section 4.1).
  bool unfused_attention = false;
  // What the allocator holds besides, of what is allocated. PyTorch's caching allocator with expandable segments stays
  // within a few per cent.
  double fragmentation = 0.02;
  // Per score over the vocabulary: 16-bit logits and their gradient, fp32 probabilities (Megatron-LM,
  // vocab_parallel_cross_entropy); 4 where the gradient takes the logits' place and nothing is held in fp32.
  double logit_bytes = 8.0;
  // Parameters gathered for a forward stay until the step's end, gradients whole until then: FSDP2 under a pipeline
  // (torchtitan, reshard_after_forward "default"), which otherwise would gather once a micro-batch.
  bool keeps_gathered = false;
  // 16-bit gradients beside the sums, per parameter: DeepSpeed's BF16 and FP16 optimizers.
  double gradient_copy_bytes = 0.0;
  // The project's own programs, which `simulate` and the executor run, instead of usual software: fused attention,
  // logits and their gradient in one buffer of the compute type, no padding (program_memory.h).
  bool program = false;
};

}  // namespace trainyard::simulator
