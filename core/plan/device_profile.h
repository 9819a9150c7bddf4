// DeviceProfile: what the simulator needs to know of a machine.
//
// Two forms. Measured: samples that `trainyard calibrate` took on the machine itself, one set per way of
// sharing it (ranks at once, threads per rank), because ranks on one host compete for cores, cache and
// memory bandwidth. Analytic: an accelerator and a fabric from published numbers.
//
// Files that `calibrate` writes carry SI numbers with the unit in the key ("time_s", "payload_bytes").
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/plan/accelerator.h"
#include "core/plan/provenance.h"
#include "core/program/communication.h"
#include "core/program/operation.h"
#include "core/units/count.h"
#include "core/units/quantity.h"

namespace trainyard {

constexpr int kDeviceProfileSchema = 1;

// Times are medians over repeats with all `ranks_at_once` ranks doing the same, the slowest rank's.
struct GemmSample {
  Gemm gemm;
  Seconds time;
};

struct AttentionSample {
  Attention attention;
  Seconds time;
};

struct ElementwiseSample {
  ElementwiseKernel kernel = ElementwiseKernel::kCopy;
  std::int64_t elements = 0;  // of the kernel's main operand, as Elementwise::elements
  ByteCount bytes;            // read + written
  Seconds time;
};

// From the last member's post to the last member's completion. kSend: one message from a rank to another
// that has posted its receive, group_size 2; kRecv is not sampled.
struct CollectiveSample {
  CommunicationKind kind = CommunicationKind::kAllReduce;
  CollectiveAlgorithm algorithm = CollectiveAlgorithm::kRing;
  int group_size = 2;
  ByteCount payload;  // of the whole tensor, as Communication::payload
  Seconds time;
};

// Factors >= 1 by which work takes longer while a rank computes and communicates at once.
struct OverlapSlowdown {
  int group_size = 2;  // of the communication
  double compute = 1.0;
  double communication = 1.0;
};

// One copy between the host's memory and the device's, from or to memory of the device's own kind on the host (pinned),
// all ranks at once: over PCIe or what joins the GPU to its host; on the CPU within memory.
enum class CopyDirection : std::uint8_t { kToDevice, kToHost };
struct HostCopySample {
  CopyDirection direction = CopyDirection::kToDevice;
  ByteCount bytes;
  Seconds time;
};

// One way of sharing the machine.
struct Concurrency {
  int ranks_at_once = 1;
  int threads_per_rank = 1;
  std::vector<GemmSample> gemms;
  std::vector<AttentionSample> attentions;
  std::vector<ElementwiseSample> elementwise;
  std::vector<CollectiveSample> collectives;
  std::vector<OverlapSlowdown> overlap;
  std::vector<HostCopySample> host_copies;  // empty in profiles of before they were measured
  Seconds instruction_overhead;             // per instruction: dispatch, trace clock; on its stream, before its work
  Seconds stream_handover;                  // from an instruction's end to the start of one that waited for it
  FlopsPerSecond peak_gemm_rate;            // of one rank, the best product seen: what MFU divides by
  ByteCount process_baseline;               // resident memory of a worker process without buffers
};

struct MeasuredProfile {
  ByteCount memory;  // of the machine, shared by its ranks
  std::vector<Concurrency> concurrencies;

  // The set for this many ranks on the machine: exact, or else the nearest larger, or else the largest.
  // Throws Error for a profile without sets.
  const Concurrency& at(int ranks_at_once) const;
};

struct AnalyticProfile {
  Accelerator accelerator;
  Fabric fabric;
};

struct DeviceProfile {
  std::string name;
  std::string device;  // "cpu", "cuda"
  std::variant<MeasuredProfile, AnalyticProfile> data;
  Provenance provenance;

  const MeasuredProfile* measured() const { return std::get_if<MeasuredProfile>(&data); }
  const AnalyticProfile* analytic() const { return std::get_if<AnalyticProfile>(&data); }
};

std::string_view to_string(CopyDirection direction);  // "to_device", "to_host"

// The fastest copy seen; nothing without samples.
std::optional<BytesPerSecond> best_copy_rate(const Concurrency& set, CopyDirection direction);

// Memory one rank may use when `ranks_at_once` share a machine, and the rate that MFU divides by.
ByteCount memory_per_rank(const DeviceProfile& profile, std::int64_t ranks_at_once);
FlopsPerSecond peak_rate(const DeviceProfile& profile, DataType type, std::int64_t ranks_at_once);

// Measured profiles only; analytic ones are the two files they came from.
DeviceProfile read_device_profile(const std::filesystem::path& file);
DeviceProfile parse_device_profile(const std::string& text, const std::string& where);
std::string to_json(const DeviceProfile& profile);
void write_device_profile(const DeviceProfile& profile, const std::filesystem::path& file);  // whole or not at all

DeviceProfile analytic_profile(Accelerator accelerator, Fabric fabric);

}  // namespace trainyard
