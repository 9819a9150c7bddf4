// MachineRates: an accelerator under a stack, as rates that kernels reach with a layout's types.
#pragma once

#include <optional>
#include <string_view>

#include "core/program/data_type.h"
#include "simulator/throughput/attention_time.h"
#include "simulator/throughput/gemm_time.h"
#include "simulator/throughput/machine.h"

namespace trainyard::simulator {

struct MachineRates {
  GemmRate linear;  // products with weights, in the compute type
  GemmRate wide;    // in 16 bits where the compute type is narrower: head, router
  AttentionRate attention;
  FlopsPerSecond peak;      // of the compute type: what ideal time and MFU divide by
  BytesPerSecond memory;    // reached
  double cast_bytes = 0.0;  // 0 unless the compute type is narrower than 16 bits
  Seconds host;
  double communication = 1.0;
  Seconds skew;
  double overlap = 0.0;
  double token_bytes = 0.0;
  BytesPerSecond host_link;  // PCIe or C2C, one direction
  bool fused = true;
  bool sliced_transfer = true;
  bool post_validation = false;
  bool fused_accumulation = true;
  bool early_stop = false;

  // Bytes moved per weight to add a gradient of so many bytes to what earlier micro-batches left: by the product
  // itself, or by a kernel after it, which reads the product's 16-bit result.
  double accumulation_bytes(double gradient) const { return 2.0 * gradient + (fused_accumulation ? 0.0 : 4.0); }
};

// Tensor cores at their peak draw more than the power limit; clocks give. Peak / power^... of a GPU against A100's:
//   share = min(1, ((P/W) / (312 TFLOP/s / 400 W))^-0.45)      P dense 16-bit peak, W power limit
// A100 1, H100 SXM .77, GB300 .69, GB200 .64, B200 .62. Unknown power: by the generation's usual.
// Source: fit to published steps (A100, H100, B200, GB200, GB300), docs/cost_model.md.
double sustained_share(const Accelerator& accelerator);

// What the name of an accelerator, of a GPU or of a cluster says of its generation: "h100" in "superpod-h100". In lower
// case.
std::optional<std::string_view> generation_named(std::string_view name);

// "volta", "ampere", "hopper", "blackwell", "cdna3", ...: by the accelerator's name.
std::string_view generation_of(const Accelerator& accelerator);

// Falls back to the nearest type that the accelerator has a peak for (mxfp8 to fp8, fp8 to bf16, bf16 to fp16).
FlopsPerSecond peak_of(const Accelerator& accelerator, DataType type);

MachineRates machine_rates(const Machine& machine, DataType compute_type);

}  // namespace trainyard::simulator
