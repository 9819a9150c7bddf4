#include "core/plan/accelerator.h"

#include <fmt/format.h>

#include <charconv>
#include <string_view>

#include "core/document/json_document.h"
#include "core/error.h"

namespace trainyard {
namespace {

// Each quantity is an object {"value": ..., "source": "..."}.
template <class Q>
Sourced<Q> sourced_quantity(ObjectReader& parent, std::string_view key) {
  ObjectReader entry = parent.object(key);
  Sourced<Q> result{entry.quantity<Q>("value"), entry.text("source")};
  entry.finish();
  return result;
}

Sourced<ByteCount> sourced_bytes(ObjectReader& parent, std::string_view key) {
  ObjectReader entry = parent.object(key);
  Sourced<ByteCount> result{entry.byte_count("value"), entry.text("source")};
  entry.finish();
  return result;
}

Sourced<double> sourced_number(ObjectReader& parent, std::string_view key, double lowest, double highest) {
  ObjectReader entry = parent.object(key);
  Sourced<double> result{entry.number("value", lowest, highest), entry.text("source")};
  entry.finish();
  return result;
}

Sourced<std::int64_t> sourced_count(ObjectReader& parent, std::string_view key) {
  ObjectReader entry = parent.object(key);
  Sourced<std::int64_t> result{entry.integer("value", 1), entry.text("source")};
  entry.finish();
  return result;
}

// "700 W": the one place that has a power.
Sourced<double> sourced_watts(ObjectReader& parent, std::string_view key) {
  ObjectReader entry = parent.object(key);
  const std::string text = entry.text("value");
  Sourced<double> result{0.0, entry.text("source")};
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, result.value);
  if (error != std::errc() || std::string_view(rest, end) != " W" || !(result.value > 0.0)) {
    entry.fail("value", "\"" + text + "\" is not a power", "for example \"700 W\"");
  }
  entry.finish();
  return result;
}

// What kernels reach where the file doesn't say: the H100's, the one accelerator that they were fitted on alone.
KernelEfficiency borrowed_efficiency() {
  const std::string source = "assumption: none known of this accelerator; h100-sxm's, fitted on published step times";
  constexpr double kOverhead = 52e-6;
  return {.gemm = {0.68, source},
          .gemm_k0 = {59, source},
          .gemm_overhead = {from_si<Seconds>(kOverhead), source},
          .attention = {0.39, source},
          .memory = {1.0, source},
          .intra_node = {0.87, source},
          .inter_node = {0.48, source}};
}

KernelEfficiency read_efficiency(ObjectReader reader) {
  constexpr double kLowest = 1e-3;
  KernelEfficiency efficiency;
  efficiency.gemm = sourced_number(reader, "gemm", kLowest, 1.0);
  efficiency.gemm_k0 = sourced_number(reader, "gemm_k0", 0.0, 1e6);
  efficiency.gemm_overhead = sourced_quantity<Seconds>(reader, "gemm_overhead");
  efficiency.attention = sourced_number(reader, "attention", kLowest, 1.0);
  efficiency.memory = sourced_number(reader, "memory", kLowest, 1.0);
  efficiency.intra_node = sourced_number(reader, "intra_node", kLowest, 1.0);
  efficiency.inter_node = sourced_number(reader, "inter_node", kLowest, 1.0);
  reader.finish();
  return efficiency;
}

}  // namespace

FlopsPerSecond Accelerator::peak(DataType type) const {
  for (const auto& [known, rate] : dense_peak) {
    if (known == type) {
      return rate.value;
    }
  }
  throw Error(fmt::format("accelerator {} has no dense peak for {}", name, to_string(type)), name,
              "add it to the accelerator's file with its source, or choose another compute type");
}

Accelerator parse_accelerator(const std::string& text, const std::string& where) {
  ObjectReader root = parse_json_object(text, where);
  root.document("accelerator", kAcceleratorSchema);
  Accelerator accelerator;
  accelerator.name = root.text("name");
  ObjectReader peaks = root.object("dense_peak");
  for (const DataType type : {DataType::kFp64, DataType::kFp32, DataType::kTf32, DataType::kFp16, DataType::kBf16,
                              DataType::kFp8, DataType::kMxFp8, DataType::kNvFp4}) {
    if (peaks.has(to_string(type))) {
      accelerator.dense_peak.emplace_back(type, sourced_quantity<FlopsPerSecond>(peaks, to_string(type)));
    }
  }
  peaks.finish();
  accelerator.memory = sourced_bytes(root, "memory");
  accelerator.memory_bandwidth = sourced_quantity<BytesPerSecond>(root, "memory_bandwidth");
  accelerator.intra_node_bandwidth = sourced_quantity<BytesPerSecond>(root, "intra_node_bandwidth");
  accelerator.intra_node_latency = sourced_quantity<Seconds>(root, "intra_node_latency");
  accelerator.collective_overhead = sourced_quantity<Seconds>(root, "collective_overhead");
  if (root.has("host_link_bandwidth")) {
    accelerator.host_link_bandwidth = sourced_quantity<BytesPerSecond>(root, "host_link_bandwidth");
  }
  if (root.has("power")) {
    accelerator.power_w = sourced_watts(root, "power");
  }
  accelerator.runtime_memory = sourced_bytes(root, "runtime_memory");
  accelerator.efficiency = root.has("efficiency") ? read_efficiency(root.object("efficiency")) : borrowed_efficiency();
  root.finish();
  return accelerator;
}

Accelerator read_accelerator(const std::filesystem::path& file) {
  return parse_accelerator(read_text_file(file), file.string());
}

Fabric parse_fabric(const std::string& text, const std::string& where) {
  ObjectReader root = parse_json_object(text, where);
  root.document("cluster", kClusterSchema);
  Fabric fabric;
  fabric.name = root.text("name");
  fabric.accelerator = root.text("accelerator");
  fabric.ranks = sourced_count(root, "ranks");
  fabric.ranks_per_node = sourced_count(root, "ranks_per_node");
  fabric.nic_bandwidth = sourced_quantity<BytesPerSecond>(root, "nic_bandwidth");
  fabric.nic_latency = sourced_quantity<Seconds>(root, "nic_latency");
  root.finish();
  return fabric;
}

Fabric read_fabric(const std::filesystem::path& file) { return parse_fabric(read_text_file(file), file.string()); }

}  // namespace trainyard
