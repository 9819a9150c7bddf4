#include "simulator/throughput/machine_rates.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

#include "core/program/storage_type.h"

namespace trainyard::simulator {

namespace {

// Not fitted per stack: what BLOOM's hidden size of 14400 on 8 ranks (1800) loses, rows of docs/cost_model.md.
constexpr double kMisaligned = 0.6;
// PCIe 4.0 x16 as copies reach it, where the accelerator's file says nothing.
constexpr BytesPerSecond kHostLink = from_si<BytesPerSecond>(25e9);
constexpr double kBatchedShare = 0.44;  // of large products' rate, by products of head size (unfused attention)
constexpr double kScoreMemory = 1.1;    // scores stream better than norms and activations

std::optional<FlopsPerSecond> stated_peak(const Accelerator& accelerator, DataType type) {
  for (const auto& [known, peak] : accelerator.dense_peak) {
    if (known == type) {
      return peak.value;
    }
  }
  return std::nullopt;
}

DataType wider(DataType type) {
  switch (type) {
    case DataType::kNvFp4:
    case DataType::kMxFp8:
      return DataType::kFp8;
    case DataType::kFp8:
      return DataType::kBf16;
    case DataType::kBf16:
      return DataType::kFp16;
    case DataType::kTf32:
      return DataType::kFp32;
    default:
      return type;
  }
}

}  // namespace

double sustained_share(const Accelerator& accelerator) {
  constexpr double kReference = 312e12 / 400.0;
  constexpr double kExponent = -0.45;
  const std::string_view generation = generation_of(accelerator);
  const double usual = generation == "blackwell" ? 1100.0 : generation == "hopper" ? 700.0 : 400.0;
  const double watts = accelerator.power_w ? accelerator.power_w->value : usual;
  const double dense = peak_of(accelerator, DataType::kFp16).si() / watts;
  return std::min(1.0, std::pow(dense / kReference, kExponent));
}

std::optional<std::string_view> generation_named(std::string_view name) {
  struct Word {
    std::string_view part;
    std::string_view generation;
  };
  constexpr std::array<Word, 12> kWords = {{{"b200", "blackwell"},
                                            {"b300", "blackwell"},
                                            {"h100", "hopper"},
                                            {"h200", "hopper"},
                                            {"h800", "hopper"},
                                            {"h20", "hopper"},
                                            {"a100", "ampere"},
                                            {"a800", "ampere"},
                                            {"v100", "volta"},
                                            {"mi3", "cdna3"},
                                            {"mi250", "cdna2"},
                                            {"l40", "ada"}}};
  for (const Word& word : kWords) {
    if (name.find(word.part) != std::string_view::npos) {
      return word.generation;
    }
  }
  return std::nullopt;
}

std::string_view generation_of(const Accelerator& accelerator) {
  return generation_named(accelerator.name).value_or("ampere");
}

FlopsPerSecond peak_of(const Accelerator& accelerator, DataType type) {
  std::optional<FlopsPerSecond> peak = stated_peak(accelerator, type);
  while (!peak && wider(type) != type) {
    type = wider(type);
    peak = stated_peak(accelerator, type);
  }
  return peak ? *peak : accelerator.peak(type);
}

MachineRates machine_rates(const Machine& machine, DataType compute_type) {
  const Accelerator& accelerator = machine.accelerator;
  const StackProfile& stack = machine.stack;
  const auto constant = [&](StackConstant which) { return stack.constant(which); };
  const DataType wide = wide_type(compute_type);
  const double gemm = constant(StackConstant::kGemm) * sustained_share(accelerator);
  MachineRates rates;
  rates.peak = peak_of(accelerator, compute_type);
  rates.memory = accelerator.memory_bandwidth.value * constant(StackConstant::kMemory);
  rates.wide = {gemm * peak_of(accelerator, wide),
                constant(StackConstant::kGemmDepth),
                kMisaligned,
                from_si<Seconds>(constant(StackConstant::kGemmOverhead)),
                accelerator.memory_bandwidth.value,
                std::max(2.0, stored_bytes(wide))};
  rates.linear = rates.wide;
  if (wide != compute_type) {
    rates.linear.reached = gemm * constant(StackConstant::kLowPrecision) * rates.peak;
    rates.linear.operand_bytes = stored_bytes(compute_type);
    rates.cast_bytes = constant(StackConstant::kCastBytes);
  }
  rates.attention = {stack.attention,
                     flash_share(stack.attention, generation_of(accelerator)) * constant(StackConstant::kAttention) *
                         peak_of(accelerator, wide),
                     kBatchedShare * rates.wide.reached * constant(StackConstant::kAttention),
                     kScoreMemory * rates.memory * constant(StackConstant::kAttention)};
  rates.host_link = accelerator.host_link_bandwidth ? accelerator.host_link_bandwidth->value : kHostLink;
  rates.host = from_si<Seconds>(constant(StackConstant::kHost));
  rates.communication = constant(StackConstant::kCommunication);
  rates.skew = from_si<Seconds>(constant(StackConstant::kSkew));
  rates.overlap = constant(StackConstant::kOverlap);
  rates.token_bytes = constant(StackConstant::kTokenBytes);
  rates.fused = stack.fused;
  rates.early_stop = stack.early_stop;
  rates.sliced_transfer = stack.sliced_transfer;
  rates.post_validation = stack.post_validation;
  rates.fused_accumulation = stack.fused_accumulation;
  return rates;
}

}  // namespace trainyard::simulator
