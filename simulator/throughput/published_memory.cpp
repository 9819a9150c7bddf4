#include "simulator/throughput/published_memory.h"

#include <algorithm>
#include <cmath>

#include "core/document/text_match.h"
#include "simulator/memory/memory_model.h"

namespace trainyard::simulator {

namespace {

struct Software {
  MemoryHabits habits;
  std::vector<Layout> layouts;
  bool device_reading = false;  // of the whole process (DeepSpeed's logs), not of tensors
};

// What the software keeps, from its words.
Software software_of(const ThroughputCase& row) {
  const PublishedRun& run = row.run;
  Software software{{}, row.layouts, false};
  const Layout& layout = software.layouts.front();
  software.habits.unfused_attention = row.software.attention == AttentionKernel::kUnfused;
  software.habits.keeps_gathered = layout.pipeline > 1 && layout.zero_stage == 3;
  if (contains(run.source_key, "foundry")) {
    software.habits.logit_bytes = 4.0;  // its fused loss works in place
  }
  for (Layout& each : software.layouts) {
    if (contains(run.parallelism.sharding, "FSDP") && !contains(run.source_key, "bridge")) {
      each.parameter_type = DataType::kFp32;  // the shard is the optimizer's own; 16 bits once gathered
    }
    if (contains(run.source_key, "dgxc")) {
      each.gradient_type = DataType::kBf16;  // NeMo: grad_reduce_in_fp32 off
    }
  }
  if (run.source_key.starts_with("bloom")) {
    software.habits.gradient_copy_bytes = 2.0;
    software.habits.fragmentation = 0.15;
    software.device_reading = true;
  }
  return software;
}

bool is_complete(const ThroughputCase& row) {
  const std::string& recompute = row.run.parallelism.recompute;
  const bool unknown = recompute.empty() || contains(recompute, "unknown");
  // Of modules of their own.
  const bool of_experts = row.moe() && contains(recompute, "selective");
  return row.layouts.size() == 1 && row.run.parallelism.micro_batch && row.run.parallelism.vpp && !unknown &&
         !of_experts;
}

MemoryScore score(const ThroughputCase& row) {
  const Software software = software_of(row);
  MemoryModel model(row.workload, Machine{row.machine.accelerator, row.machine.fabric, {}}, software.habits);
  MemoryScore made;
  made.id = row.run.id;
  made.layout = describe(software.layouts.front());
  made.complete = is_complete(row);
  made.capacity = row.machine.accelerator.memory.value;
  if (row.run.peak_memory_gib) {
    made.measured = ByteCount(static_cast<std::int64_t>(*row.run.peak_memory_gib * 0x1p30));
  }
  const MemoryPrice stated = model.price(software.layouts.front());
  made.predicted = software.device_reading ? stated.total : stated.allocated;
  for (Layout layout : software.layouts) {
    layout.recompute = made.complete ? layout.recompute : Recompute::kFull;
    const ByteCount needs = model.price(layout).total;
    made.least = made.least.value() == 0 ? needs : std::min(made.least, needs);
  }
  return made;
}

}  // namespace

double MemoryScore::error() const {
  return static_cast<double>(predicted.value()) / static_cast<double>(measured->value()) - 1.0;
}

std::vector<MemoryScore> score_memory(const std::vector<ThroughputCase>& cases) {
  // Rows that are excluded for what is wrong with their layout; those of older releases ran as stated.
  const ThroughputExclusions exclusions = shipped_throughput_exclusions();
  std::vector<MemoryScore> scores;
  for (std::size_t i = 0; i < cases.size(); ++i) {
    const ThroughputCase& row = cases[i];
    if (row.reason.empty() && !row.layouts.empty() && !exclusions.rows.contains(row.run.id)) {
      scores.push_back(score(row));
      scores.back().row = i;
    }
  }
  return scores;
}

MemorySummary summarise_memory(const std::vector<MemoryScore>& scores) {
  MemorySummary summary;
  for (const MemoryScore& score : scores) {
    ++summary.ran;
    summary.refused += score.refused() ? 1 : 0;
    if (score.scored()) {
      ++summary.rows;
      summary.mean += std::abs(score.error());
      summary.bias += score.error();
      summary.max = std::max(summary.max, std::abs(score.error()));
    }
  }
  if (summary.rows > 0) {
    summary.mean /= summary.rows;
    summary.bias /= summary.rows;
  }
  return summary;
}

}  // namespace trainyard::simulator
