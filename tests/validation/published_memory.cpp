#include "tests/validation/published_memory.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/document/read_file.h"

namespace trainyard::testing {

namespace {

using nlohmann::json;

bool has(const json& object, const char* key) { return object.contains(key) && !object.at(key).is_null(); }

bool mentions(const json& object, const char* key, std::string_view part) {
  return has(object, key) && object.at(key).get<std::string>().find(part) != std::string::npos;
}

int degree(const json& object, const char* key) { return has(object, key) ? object.at(key).get<int>() : 1; }

void read_experts(const json& row, ModelSpec& model) {
  const json& moe = row.at("moe");
  MixtureOfExperts experts;
  experts.experts = moe.at("experts");
  experts.experts_per_token = moe.at("top_k");
  experts.expert_feed_forward = moe.at("expert_ffn_hidden");
  experts.shared_experts = has(moe, "shared_experts") ? moe.at("shared_experts").get<std::int64_t>() : 0;
  experts.first_dense_layers = has(moe, "dense_layers") ? moe.at("dense_layers").get<std::int64_t>() : 0;
  model.experts = experts;
}

void read_latent(const json& row, ModelSpec& model) {
  const json& mla = row.at("mla");
  LatentAttention latent;
  if (has(mla, "q_lora_rank")) {
    latent.query_rank = mla.at("q_lora_rank").get<std::int64_t>();
  }
  latent.key_value_rank = mla.at("kv_lora_rank");
  latent.no_rope_size = mla.at("qk_nope_head_dim");
  latent.rope_size = mla.at("qk_rope_head_dim");
  model.value_head_size = mla.at("v_head_dim").get<std::int64_t>();
  model.head_size = latent.no_rope_size + latent.rope_size;
  model.latent_attention = latent;
}

std::optional<ModelSpec> read_model(const json& row) {
  for (const char* key : {"layers", "hidden", "heads", "kv_heads", "activation"}) {
    if (!has(row, key)) {
      return std::nullopt;
    }
  }
  if (!has(row, "ffn_hidden") && !has(row, "moe")) {
    return std::nullopt;
  }
  constexpr std::int64_t kGpt2Vocabulary = 50257;  // where a GPT's isn't stated
  ModelSpec model;
  model.layers = row.at("layers");
  model.hidden = row.at("hidden");
  model.heads = row.at("heads");
  model.key_value_heads = row.at("kv_heads");
  model.head_size = has(row, "head_dim") ? row.at("head_dim").get<std::int64_t>() : model.hidden / model.heads;
  model.feed_forward = has(row, "ffn_hidden") ? row.at("ffn_hidden").get<std::int64_t>() : 0;
  model.vocabulary = has(row, "vocab") ? row.at("vocab").get<std::int64_t>() : kGpt2Vocabulary;
  model.positions = row.at("seq_len");
  model.gated_feed_forward = mentions(row, "activation", "swiglu") || mentions(row, "activation", "gated");
  model.tied_embeddings = has(row, "tied_embeddings") && row.at("tied_embeddings").get<bool>();
  if (has(row, "moe")) {
    read_experts(row, model);
  }
  if (has(row, "mla")) {
    read_latent(row, model);
  }
  return model;
}

void read_types(const json& row, Layout& layout) {
  layout.compute_type = DataType::kBf16;
  layout.parameter_type = DataType::kBf16;
  layout.communication_type = DataType::kBf16;
  if (mentions(row, "precision", "MXFP8")) {
    layout.compute_type = DataType::kMxFp8;
  } else if (mentions(row, "precision", "fp8")) {
    layout.compute_type = DataType::kFp8;
  } else if (mentions(row, "precision", "nvfp4")) {
    layout.compute_type = DataType::kNvFp4;
  }
}

void read_sharding(const json& row, Layout& layout) {
  if (mentions(row, "zero_stage_or_fsdp", "FSDP")) {
    layout.zero_stage = 3;
    layout.parameter_type = DataType::kFp32;
  } else if (mentions(row, "zero_stage_or_fsdp", "ZeRO-1") || mentions(row, "zero_stage_or_fsdp", "distributed opt")) {
    layout.zero_stage = 1;
  }
}

void read_schedule(const json& row, Layout& layout) {
  if (layout.pipeline == 1) {
    return;
  }
  if (mentions(row, "schedule", "ZB-1p")) {
    layout.schedule = ScheduleKind::kZeroBubbleH1;
  } else if (mentions(row, "schedule", "ZB-2p")) {
    layout.schedule = ScheduleKind::kZeroBubbleH2;
  } else if (layout.chunks_per_stage > 1) {
    layout.schedule = ScheduleKind::kInterleaved;
  }
}

// The embedding and the loss as layers of their own, where only that divides (BLOOM, Zero Bubble).
void balance_ends(const ModelSpec& model, Layout& layout) {
  const int chunks = layout.pipeline * layout.chunks_per_stage;
  if (chunks > 1 && model.layers % chunks != 0 && (model.layers + 2) % chunks == 0) {
    layout.chunk_layers.assign(static_cast<std::size_t>(chunks), static_cast<int>((model.layers + 2) / chunks));
    --layout.chunk_layers.front();
    --layout.chunk_layers.back();
  }
}

Layout read_layout(const json& row) {
  Layout layout;
  layout.tensor = degree(row, "tp");
  layout.pipeline = degree(row, "pp");
  layout.data = degree(row, "dp");
  layout.context = degree(row, "cp");
  layout.expert = degree(row, "ep");
  layout.chunks_per_stage = degree(row, "vpp");
  layout.sequence_parallel = has(row, "sequence_parallel") && row.at("sequence_parallel").get<bool>();
  layout.micro_batch = degree(row, "micro_batch");
  layout.accumulation =
      has(row, "grad_accum")
          ? row.at("grad_accum").get<std::int64_t>()
          : std::max<std::int64_t>(1, row.at("global_batch").get<std::int64_t>() / (layout.micro_batch * layout.data));
  if (mentions(row, "recompute", "full") || mentions(row, "recompute", "moe")) {  // experts hold most
    layout.recompute = Recompute::kFull;
  } else if (mentions(row, "recompute", "selective")) {
    layout.recompute = Recompute::kSelective;
  }
  return layout;
}

std::optional<ByteCount> read_peak(const json& measured) {
  if (has(measured, "peak_memory_GiB")) {
    return ByteCount(static_cast<std::int64_t>(measured.at("peak_memory_GiB").get<double>() * 0x1p30));
  }
  if (has(measured, "peak_memory_GB")) {
    return ByteCount(static_cast<std::int64_t>(measured.at("peak_memory_GB").get<double>() * 1e9));
  }
  return std::nullopt;
}

void read_habits(const json& row, PublishedMemory& entry) {
  const json& parallelism = row.at("parallelism");
  const std::string source = row.at("source_key");
  entry.habits.unfused_attention = mentions(parallelism, "attention_kernel", "no flash") || source == "zero-bubble";
  entry.habits.keeps_gathered = entry.layout.pipeline > 1 && entry.layout.zero_stage == 3;
  if (source.find("foundry") != std::string::npos) {
    entry.habits.logit_bytes = 4.0;  // its fused loss works in place
  }
  if (source.find("dgxc") != std::string::npos) {  // NeMo: grad_reduce_in_fp32 off; expert-tensor as tensor
    entry.layout.gradient_type = DataType::kBf16;
    entry.layout.expert_tensor = entry.layout.expert > 1 ? entry.layout.tensor : 1;
  }
  if (source.starts_with("bloom")) {
    entry.habits.gradient_copy_bytes = 2.0;
    entry.habits.fragmentation = 0.15;
    entry.device_reading = true;
  }
}

}  // namespace

std::vector<PublishedMemory> read_published_memory(const std::filesystem::path& file) {
  std::vector<PublishedMemory> entries;
  for (const json& row : json::parse(read_text_file(file))) {
    const json& parallelism = row.at("parallelism");
    const std::optional<ModelSpec> model = read_model(row.at("model"));
    if (!model || !has(parallelism, "tp") || !has(parallelism, "pp") || !has(parallelism, "dp") ||
        !has(parallelism, "global_batch")) {
      continue;
    }
    PublishedMemory entry;
    entry.id = row.at("id");
    entry.source = row.at("source_key");
    entry.workload = {*model, row.at("model").at("seq_len"), parallelism.at("global_batch")};
    entry.layout = read_layout(parallelism);
    read_types(parallelism, entry.layout);
    read_sharding(parallelism, entry.layout);
    read_schedule(parallelism, entry.layout);
    balance_ends(*model, entry.layout);
    read_habits(row, entry);
    entry.complete = has(parallelism, "micro_batch") && has(parallelism, "vpp") && has(parallelism, "recompute") &&
                     !mentions(parallelism, "recompute", "unknown") &&
                     !(model->experts && mentions(parallelism, "recompute", "selective"));  // of modules of its own
    const json& hardware = row.at("hardware");
    const double gigabytes = has(hardware, "gpu_memory_GB") ? hardware.at("gpu_memory_GB").get<double>() : 80.0;
    entry.device = ByteCount(static_cast<std::int64_t>(gigabytes * 0x1p30));
    entry.measured = read_peak(row.at("measured"));
    entries.push_back(std::move(entry));
  }
  return entries;
}

}  // namespace trainyard::testing
