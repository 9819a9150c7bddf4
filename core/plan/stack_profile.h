// StackProfile: what a generation of training software reaches on an accelerator, as a few named, dated numbers.
//
// The silicon's peaks are facts; how near kernels come, which of them are fused and what is overlapped is the
// software's, and changes more from one release to the next than from one GPU to the next. Twelve constants, each with
// its equation in simulator/throughput, and habits that the software's documentation states. A profile names its
// software and its date, where its constants come from, and how far predictions with them lie from measurements.
// Files: models/stacks/*.json ("document": "stack_profile"), fitted by `trainyard validate --fit`.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace trainyard {

// The constants, in the order of StackProfile::constants.
enum class StackConstant : std::uint8_t {
  kGemm,           // of the sustained peak of 16-bit types (machine_rates.h), large products
  kLowPrecision,   // the same of 8- and 4-bit peaks, as a factor on kGemm
  kGemmDepth,      // k0: products of depth k take 1 + k0/k as long
  kGemmOverhead,   // s per product
  kAttention,      // of what the kernel is known to reach on the generation (attention_time.h)
  kMemory,         // of the memory bandwidth, for norms, activations, loss, optimizer
  kCastBytes,      // bytes moved per element quantised for a product
  kHost,           // s to launch a layer's forward
  kCommunication,  // factor on the time nccl-tests would measure
  kSkew,           // s of waiting for each other, per collective of a layer
  kOverlap,        // share of what could be hidden behind compute that is hidden
  kTokenBytes,     // bytes moved per element of a token routed to an expert, one pass
};
constexpr int kStackConstants = static_cast<int>(StackConstant::kTokenBytes) + 1;
std::string_view to_string(StackConstant constant);  // "gemm", "low_precision", ...

// How scores meet values.
enum class AttentionKernel : std::uint8_t {
  kUnfused,  // two batched products and a softmax over the whole square, in memory
  kFlash1,   // Dao et al. 2022: no square in memory
  kFlash2,   // Dao 2023: causal blocks skipped; Ampere's instructions
  kFlash3,   // Shah et al. 2024: Hopper's
  kCudnn,    // cuDNN's, for each generation
};
std::string_view to_string(AttentionKernel kernel);  // "unfused", "flash1", ...

struct StackProfile {
  std::string name;  // "megatron-2025-hopper"
  std::string date;  // "2025-04"
  std::string software;
  std::string generation;  // of the accelerator: "ampere", "hopper", ...
  std::array<double, kStackConstants> constants{};
  AttentionKernel attention = AttentionKernel::kCudnn;
  bool fused = true;            // norms, activations and loss in few kernels
  bool sliced_transfer = true;  // tensor-parallel ranks send a slice each between stages
  // Zero-bubble schedules: the next step starts before the gradient norm is known and is undone where it was bad.
  bool post_validation = false;
  bool fused_accumulation = true;  // products of gradients add to what is there; not so, a kernel after them does
  bool early_stop = false;  // full recomputation ends with the last tensor that backward needs: PyTorch's from 2.1 on
  // Half-widths of the log of step time that 4 of 5 measurements stay inside: of the groups (a model on a machine) that
  // the constants were fitted on, of other ones, and once one run has set the scale.
  double band_fitted = 0.06;
  double band = 0.1;
  double band_anchored = 0.06;
  double band_experts = 0.2;         // at least, of models with experts
  double scale = 1.0;                // of step time: a user's own run
  std::vector<std::string> anchors;  // runs of a user's own that it follows (own_runs.h): which, and their step time
  std::vector<std::string> sources;  // whose measurements the constants were fitted on
  std::vector<std::string> groups;   // which of their groups
  std::string provenance;

  double constant(StackConstant which) const { return constants.at(static_cast<std::size_t>(which)); }
};

constexpr double kWidestBand = 2.0;  // of a profile's bands

constexpr int kStackProfileSchema = 1;

StackProfile parse_stack_profile(const std::string& text, const std::string& where);
std::string stack_profile_text(const StackProfile& profile);

}  // namespace trainyard
