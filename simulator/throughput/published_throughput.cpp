#include "simulator/throughput/published_throughput.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/document/json_document.h"
#include "core/error.h"

namespace trainyard::simulator {

namespace {

using nlohmann::json;

constexpr double kGigabytesToGibibytes = 1e9 / 1073741824.0;

const json* find(const json& object, const char* key) {
  const auto found = object.find(key);
  return found == object.end() || found->is_null() ? nullptr : &*found;
}

std::string text(const json& object, const char* key) {
  const json* value = find(object, key);
  if (value == nullptr) {
    return {};
  }
  return value->is_string() ? value->get<std::string>() : value->dump();
}

std::optional<double> number(const json& object, const char* key) {
  const json* value = find(object, key);
  return value != nullptr && value->is_number() ? std::optional(value->get<double>()) : std::nullopt;
}

std::optional<std::int64_t> whole(const json& object, const char* key) {
  const std::optional<double> value = number(object, key);
  if (!value || *value < -1e15 || *value > 1e15) {
    return std::nullopt;
  }
  return static_cast<std::int64_t>(*value);
}

std::optional<bool> truth(const json& object, const char* key) {
  const json* value = find(object, key);
  return value != nullptr && value->is_boolean() ? std::optional(value->get<bool>()) : std::nullopt;
}

json part(const json& object, const char* key) {
  const json* value = find(object, key);
  return value != nullptr && value->is_object() ? *value : json::object();
}

PublishedModel read_model(const json& row) {
  const json model = part(row, "model");
  PublishedModel read;
  read.name = text(model, "name");
  read.sequence = whole(model, "seq_len");
  read.layers = whole(model, "layers");
  read.hidden = whole(model, "hidden");
  read.feed_forward = whole(model, "ffn_hidden");
  read.heads = whole(model, "heads");
  read.key_value_heads = whole(model, "kv_heads");
  read.head_size = whole(model, "head_dim");
  read.vocabulary = whole(model, "vocab");
  read.parameters = number(model, "params");
  read.activation = text(model, "activation");
  read.attention = text(model, "attention");
  read.tied = truth(model, "tied_embeddings").value_or(false);
  if (const json* moe = find(model, "moe"); moe != nullptr && moe->is_object()) {
    PublishedExperts experts;
    experts.experts = whole(*moe, "experts").value_or(0);
    experts.top_k = whole(*moe, "top_k").value_or(0);
    experts.feed_forward = whole(*moe, "expert_ffn_hidden").value_or(0);
    experts.shared = whole(*moe, "shared_experts").value_or(0);
    experts.shared_feed_forward = whole(*moe, "shared_expert_ffn_hidden");
    experts.dense_layers = whole(*moe, "dense_layers").value_or(0);
    read.experts = experts;
  }
  if (const json* mla = find(model, "mla"); mla != nullptr && mla->is_object()) {
    PublishedLatent latent;
    latent.query_rank = whole(*mla, "q_lora_rank");
    latent.key_value_rank = whole(*mla, "kv_lora_rank").value_or(0);
    latent.no_rope = whole(*mla, "qk_nope_head_dim").value_or(0);
    latent.rope = whole(*mla, "qk_rope_head_dim").value_or(0);
    latent.value = whole(*mla, "v_head_dim").value_or(0);
    read.latent = latent;
  }
  return read;
}

PublishedParallelism read_parallelism(const json& row) {
  const json layout = part(row, "parallelism");
  PublishedParallelism read;
  read.tp = whole(layout, "tp");
  read.pp = whole(layout, "pp");
  read.dp = whole(layout, "dp");
  read.cp = whole(layout, "cp");
  read.ep = whole(layout, "ep");
  read.etp = whole(layout, "etp");
  read.vpp = whole(layout, "vpp");
  read.sequence_parallel = truth(layout, "sequence_parallel");
  read.micro_batch = whole(layout, "micro_batch");
  read.global_batch = whole(layout, "global_batch");
  read.accumulation = whole(layout, "grad_accum");
  read.sharding = text(layout, "zero_stage_or_fsdp");
  read.recompute = text(layout, "recompute");
  read.schedule = text(layout, "schedule");
  read.precision = text(layout, "precision");
  read.attention_kernel = text(layout, "attention_kernel");
  read.overlap = text(layout, "overlap_flags");
  return read;
}

void read_measured(const json& row, PublishedRun& run) {
  const json measured = part(row, "measured");
  const json derived = part(row, "derived");
  run.step_s = number(derived, "iteration_time_s");
  run.tokens_per_s_per_gpu = number(derived, "tokens_per_s_per_gpu");
  if (!run.step_s) {
    run.step_s = number(measured, "iteration_time_s");
  }
  if (!run.tokens_per_s_per_gpu) {
    run.tokens_per_s_per_gpu = number(measured, "tokens_per_s_per_gpu");
  }
  run.model_tflops = number(measured, "model_tflops_per_gpu");
  run.hardware_tflops = number(measured, "hardware_tflops_per_gpu");
  run.peak_memory_gib = number(measured, "peak_memory_GiB");
  if (const std::optional<double> gb = number(measured, "peak_memory_GB"); gb && !run.peak_memory_gib) {
    run.peak_memory_gib = *gb * kGigabytesToGibibytes;
  }
}

PublishedRun read_run(const json& row) {
  PublishedRun run;
  if (!row.is_object()) {
    run.malformed = "not an object";
    return run;
  }
  run.id = text(row, "id");
  run.source = text(row, "source");
  run.source_key = text(row, "source_key");
  run.group = text(row, "group");
  run.tier = text(row, "tier");
  run.year = static_cast<int>(whole(row, "year").value_or(0));
  run.score_ready = truth(row, "score_ready").value_or(false);
  run.newest = truth(row, "newest_of_series").value_or(true);
  run.notes = text(row, "notes");
  if (const json* flags = find(row, "flags"); flags != nullptr && flags->is_array()) {
    for (const json& flag : *flags) {
      run.flags.push_back(flag.is_string() ? flag.get<std::string>() : flag.dump());
    }
  }
  const json hardware = part(row, "hardware");
  run.gpu = text(hardware, "gpu");
  run.gpu_memory_gb = number(hardware, "gpu_memory_GB");
  run.gpus = whole(hardware, "gpus_total").value_or(0);
  run.gpus_per_node = whole(hardware, "gpus_per_node").value_or(8);
  run.intra_link = text(hardware, "intra_node_link");
  run.inter_link = text(hardware, "inter_node_link");
  run.model = read_model(row);
  run.parallelism = read_parallelism(row);
  read_measured(row, run);
  if (run.id.empty()) {
    run.malformed = "no id";
  }
  return run;
}

}  // namespace

bool is_published_throughput(const std::string& text) {
  const std::size_t start = text.find_first_not_of(" \t\r\n");
  return start != std::string::npos && text[start] == '[';
}

std::vector<PublishedRun> parse_published_throughput(const std::string& text, const std::string& where) {
  const json root = parse_json(text, where);
  if (!root.is_array()) {
    throw Error("not an array of measured runs", where, "the file of published throughput is [{id, model, ...}, ...]");
  }
  const bool any = std::any_of(root.begin(), root.end(), [](const json& row) {
    return row.is_object() && row.contains("model") && row.contains("parallelism");
  });
  if (!any) {
    throw Error(root.empty() ? "no rows" : "none of the rows has \"model\" and \"parallelism\"", where,
                "the file of published throughput is [{id, model, hardware, parallelism, measured}, ...]");
  }
  std::vector<PublishedRun> runs;
  for (const json& row : root) {
    runs.push_back(read_run(row));
  }
  return runs;
}

}  // namespace trainyard::simulator
