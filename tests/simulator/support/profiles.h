// Machines for tests: a small measured one from a formula, and Llama 3's cluster from the shipped files.
#pragma once

#include <string>

#include "core/plan/device_profile.h"

namespace trainyard::simulator {

// fp32; products at 50 GFLOP/s and 2 us each, 10 GB/s through memory, transfers of 20 us and 2 GB/s.
inline DeviceProfile small_machine() {
  Concurrency set;
  set.ranks_at_once = 4;
  for (const Transpose transpose : {Transpose::kNN, Transpose::kNT, Transpose::kTN}) {
    for (const std::int64_t m : {16, 64, 256}) {
      for (const std::int64_t n : {16, 64, 256}) {
        for (const std::int64_t k : {16, 64, 256}) {
          const Gemm gemm{1, m, n, k, DataType::kFp32, transpose, false};
          const double flops = 2.0 * static_cast<double>(m * n * k);
          set.gemms.push_back({gemm, from_si<Seconds>(2e-6 + flops / 50e9)});
        }
      }
    }
  }
  for (const AttentionPass pass : {AttentionPass::kForward, AttentionPass::kBackward}) {
    for (const std::int64_t length : {16, 32, 128}) {
      for (const std::int64_t heads : {1, 4, 16}) {
        const Attention attention{1, heads, heads, length, length, 16, AttentionMask::kCausal, pass, 64};
        const double flops = static_cast<double>(attention_flops(attention).value());
        set.attentions.push_back({attention, from_si<Seconds>(2e-6 + flops / 20e9)});
      }
    }
  }
  for (const std::int64_t bytes : {1 << 10, 1 << 16, 1 << 24}) {
    const double size = static_cast<double>(bytes);
    set.elementwise.push_back(
        {ElementwiseKernel::kCopy, bytes / 8, ByteCount(bytes), from_si<Seconds>(1e-6 + size / 10e9)});
    set.collectives.push_back({CommunicationKind::kSend, CollectiveAlgorithm::kDirect, 2, ByteCount(bytes),
                               from_si<Seconds>(20e-6 + size / 2e9)});
  }
  set.instruction_overhead = 1_us;
  set.stream_handover = 3_us;
  set.peak_gemm_rate = 0.05_TFLOPS;
  set.process_baseline = ByteCount(40 << 20);
  MeasuredProfile measured;
  measured.memory = ByteCount(std::int64_t{4} << 30);
  measured.concurrencies = {set};
  DeviceProfile profile;
  profile.name = "small machine";
  profile.device = "cpu";
  profile.data = std::move(measured);
  return profile;
}

inline DeviceProfile llama3_cluster() {
  const std::string models = std::string(TRAINYARD_SOURCE_DIR) + "/models/";
  return analytic_profile(read_accelerator(models + "accelerators/h100-sxm.json"),
                          read_fabric(models + "clusters/llama3-16k-h100.json"));
}

}  // namespace trainyard::simulator
