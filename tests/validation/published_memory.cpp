#include "tests/validation/published_memory.h"

#include "core/document/read_file.h"
#include "core/document/text_match.h"

namespace trainyard::testing {

namespace {

using simulator::PublishedRun;
using simulator::ThroughputCase;

void read_habits(PublishedMemory& entry) {
  const PublishedRun& run = entry.run.run;
  const Layout& layout = entry.run.layouts.front();
  entry.habits.unfused_attention = entry.run.software.attention == AttentionKernel::kUnfused;
  entry.habits.keeps_gathered = layout.pipeline > 1 && layout.zero_stage == 3;
  if (contains(run.source_key, "foundry")) {
    entry.habits.logit_bytes = 4.0;  // its fused loss works in place
  }
  if (contains(run.parallelism.sharding, "FSDP") && !contains(run.source_key, "bridge")) {
    for (Layout& each : entry.run.layouts) {
      each.parameter_type = DataType::kFp32;  // the shard is the optimizer's own; 16 bits once gathered
    }
  }
  if (contains(run.source_key, "dgxc")) {  // NeMo: grad_reduce_in_fp32 off
    for (Layout& each : entry.run.layouts) {
      each.gradient_type = DataType::kBf16;
    }
  }
  if (run.source_key.starts_with("bloom")) {
    entry.habits.gradient_copy_bytes = 2.0;
    entry.habits.fragmentation = 0.15;
    entry.device_reading = true;
  }
}

bool is_complete(const ThroughputCase& row) {
  const std::string& recompute = row.run.parallelism.recompute;
  const bool unknown = recompute.empty() || contains(recompute, "unknown");
  // Of modules of their own.
  const bool of_experts = row.moe() && contains(recompute, "selective");
  return row.layouts.size() == 1 && row.run.parallelism.micro_batch && row.run.parallelism.vpp && !unknown &&
         !of_experts;
}

}  // namespace

std::vector<PublishedMemory> read_published_memory(const std::filesystem::path& file) {
  const simulator::ThroughputExclusions exclusions = simulator::shipped_throughput_exclusions();
  std::vector<PublishedMemory> entries;
  for (const PublishedRun& run : simulator::parse_published_throughput(read_text_file(file), file.string())) {
    ThroughputCase made = make_case(run, exclusions);
    if (!made.reason.empty() || exclusions.contains(run.id)) {
      continue;
    }
    PublishedMemory entry{.run = std::move(made)};
    if (run.peak_memory_gib) {
      entry.measured = ByteCount(static_cast<std::int64_t>(*run.peak_memory_gib * 0x1p30));
    }
    entry.complete = is_complete(entry.run);
    read_habits(entry);
    entries.push_back(std::move(entry));
  }
  return entries;
}

}  // namespace trainyard::testing
