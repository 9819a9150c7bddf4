// ThroughputCase: a published row as what StepModel takes: model, batch, layouts it may have had, machine, software.
//
// What a row leaves open is said in flags: an unstated micro-batch, interleaving or recomputation gives several
// layouts, which are all priced. A row without enough says why in `reason`.
//   flags     micro_batch_open, interleave_open, recompute_open, vocabulary_assumed, doubtful, excluded, ...
// Software is told from the words of source and parallelism: its kind, generation of kernels, attention kernel.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "core/plan/stack_profile.h"
#include "simulator/throughput/published_throughput.h"
#include "simulator/throughput/step_model.h"
#include "simulator/throughput/throughput_hardware.h"

namespace trainyard::simulator {

// What kind of software: how a row's stack is looked up where its source is unknown.
struct SoftwareWords {
  std::string kind;        // "megatron", "fsdp", "nanotron", "xla", "llm.c"
  std::string generation;  // of the GPU
  int year = 0;
  AttentionKernel attention = AttentionKernel::kCudnn;
  bool fused = true;
  bool sliced_transfer = true;
  bool post_validation = false;
  bool fused_accumulation = true;
  bool early_stop = false;
};

struct ThroughputCase {
  PublishedRun run;
  Workload workload;
  std::vector<Layout> layouts;
  DescribedMachine machine;
  SoftwareWords software;
  double tokens_per_s_per_gpu = 0.0;  // measured
  std::vector<std::string> flags;
  bool excluded = false;  // from fits and summaries
  bool apart = false;     // what it states is doubtful: its group has a profile of its own, which others don't borrow
  std::string reason;     // why it can't be priced; empty when it can

  bool moe() const { return workload.model.experts.has_value(); }
  double tokens_per_step() const {
    return static_cast<double>(workload.sequence) * static_cast<double>(workload.global_batch);
  }
  // Of a step: measured.
  double step_s() const { return tokens_per_step() / tokens_per_s_per_gpu / static_cast<double>(run.gpus); }
};

struct ThroughputExclusions {
  std::map<std::string, std::string> rows;   // id -> why the row is kept out of fits and summaries
  std::map<std::string, std::string> apart;  // group -> why its rows get a profile that no other row leans on
};

ThroughputExclusions parse_throughput_exclusions(const std::string& text, const std::string& where);
ThroughputExclusions shipped_throughput_exclusions();  // models/published/throughput_exclusions.json

ThroughputCase make_case(const PublishedRun& run, const ThroughputExclusions& exclusions);
std::vector<ThroughputCase> make_cases(const std::vector<PublishedRun>& runs, const ThroughputExclusions& exclusions);

}  // namespace trainyard::simulator
