// Measured training throughput as published: rows of model, hardware, parallelism and what was measured.
//
// Words of the rows are kept as they are; throughput_case.h makes a model, a layout and a machine of them. A row of
// wrong types is kept with its reason; a file that isn't an array of such rows is an Error.
// measured tokens/s per GPU: of the step time where given; else tokens/s; else TFLOP/s by the row's convention.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace trainyard::simulator {

struct PublishedExperts {
  std::int64_t experts = 0;
  std::int64_t top_k = 0;
  std::int64_t feed_forward = 0;
  std::int64_t shared = 0;
  std::optional<std::int64_t> shared_feed_forward;
  std::int64_t dense_layers = 0;
};

struct PublishedLatent {
  std::optional<std::int64_t> query_rank;
  std::int64_t key_value_rank = 0;
  std::int64_t no_rope = 0;
  std::int64_t rope = 0;
  std::int64_t value = 0;
};

struct PublishedModel {
  std::string name;
  std::optional<std::int64_t> sequence;
  std::optional<std::int64_t> layers;
  std::optional<std::int64_t> hidden;
  std::optional<std::int64_t> feed_forward;
  std::optional<std::int64_t> heads;
  std::optional<std::int64_t> key_value_heads;
  std::optional<std::int64_t> head_size;
  std::optional<std::int64_t> vocabulary;
  std::optional<double> parameters;
  std::string activation;
  std::string attention;
  bool tied = false;
  std::optional<PublishedExperts> experts;
  std::optional<PublishedLatent> latent;
};

struct PublishedParallelism {
  std::optional<std::int64_t> tp, pp, dp, cp, ep, etp, vpp;
  std::optional<bool> sequence_parallel;
  std::optional<std::int64_t> micro_batch, global_batch, accumulation;
  std::string sharding;  // zero_stage_or_fsdp
  std::string recompute;
  std::string schedule;
  std::string precision;
  std::string attention_kernel;
  std::string overlap;
};

struct PublishedRun {
  std::string id;
  std::string source;
  std::string source_key;
  std::string group;
  std::string tier;
  int year = 0;
  bool score_ready = false;
  bool newest = true;
  std::vector<std::string> flags;
  std::string notes;
  PublishedModel model;
  std::string gpu;
  std::optional<double> gpu_memory_gb;
  std::int64_t gpus = 0;
  std::int64_t gpus_per_node = 8;
  std::string intra_link;
  std::string inter_link;
  PublishedParallelism parallelism;
  std::optional<double> step_s;
  std::optional<double> tokens_per_s_per_gpu;
  std::optional<double> model_tflops;
  std::optional<double> hardware_tflops;
  std::optional<double> peak_memory_gib;
  std::string malformed;  // why the row can't be read; empty when it can
};

// Whether a text may be such a file: an array.
bool is_published_throughput(const std::string& text);

std::vector<PublishedRun> parse_published_throughput(const std::string& text, const std::string& where);

}  // namespace trainyard::simulator
