#include "simulator/throughput/throughput_case.h"

#include <algorithm>
#include <optional>

#include "core/document/json_document.h"
#include "core/document/object_reader.h"
#include "core/document/text_match.h"
#include "core/model/layer_shape.h"
#include "core/model/model_flops.h"
#include "simulator/throughput/row_check.h"
#include "simulator/throughput/row_layout.h"

namespace trainyard::simulator {

namespace {

constexpr std::int64_t kUnstatedVocabulary = 51200;

void fill_experts(const PublishedModel& from, ModelSpec& model) {
  if (!from.experts || from.experts->experts == 0) {
    return;
  }
  const PublishedExperts& row = *from.experts;
  MixtureOfExperts experts;
  experts.experts = row.experts;
  experts.experts_per_token = std::max<std::int64_t>(1, row.top_k);
  experts.expert_feed_forward = row.feed_forward;
  experts.shared_experts = row.shared;
  if (row.shared_feed_forward && row.feed_forward > 0) {
    experts.shared_experts = std::max<std::int64_t>(1, *row.shared_feed_forward * row.shared / row.feed_forward);
  }
  experts.first_dense_layers = row.dense_layers;
  model.experts = experts;
}

std::string fill_model(const PublishedRun& run, ThroughputCase& made) {
  const PublishedModel& from = run.model;
  if (!from.layers || !from.hidden || !from.heads || !from.sequence) {
    return "the model's layers, hidden size, heads or sequence aren't stated";
  }
  ModelSpec& model = made.workload.model;
  model.name = from.name;
  model.layers = *from.layers;
  model.hidden = *from.hidden;
  model.heads = *from.heads;
  model.key_value_heads = from.key_value_heads.value_or(model.heads);
  model.head_size = from.head_size.value_or(model.hidden / model.heads);
  model.gated_feed_forward = contains(from.activation, "glu") || contains(from.activation, "gated");
  model.feed_forward = from.feed_forward.value_or(model.gated_feed_forward ? model.hidden * 8 / 3 : 4 * model.hidden);
  model.vocabulary = from.vocabulary.value_or(kUnstatedVocabulary);
  if (!from.vocabulary) {
    made.flags.emplace_back("vocabulary_assumed");
  }
  model.tied_embeddings = from.tied;
  fill_experts(from, model);
  if (from.latent) {
    LatentAttention latent;
    latent.query_rank = from.latent->query_rank;
    latent.key_value_rank = from.latent->key_value_rank;
    latent.no_rope_size = from.latent->no_rope;
    latent.rope_size = from.latent->rope;
    model.latent_attention = latent;
    model.head_size = latent.no_rope_size + latent.rope_size;
    model.value_head_size = from.latent->value;
  }
  if (contains(from.attention, "sliding")) {
    model.sliding_window = SlidingWindow{128, contains(from.attention, "alternating") ? 2 : 0};
  }
  const std::string name = lower_case(from.name);
  if (model.experts) {
    model.experts->expert_bias = contains(name, "gpt-oss");
  }
  const bool without = contains(run.notes, "w/o MTP") || contains(run.notes, "without MTP");
  if (contains(name, "deepseek-v3") && run.source_key == "megatron-bridge" && !without) {
    model.multi_token_layers = 1;
  }
  if (model.experts && (contains(run.notes, "Real (untrained) router") || contains(run.notes, "load imbalance"))) {
    model.experts->imbalance = 1.15;
  }
  if (model.experts && contains(run.flags.empty() ? std::string() : run.flags.front(), "dropped")) {
    model.experts->capacity_factor = 1.0;
  }
  made.workload.sequence = *from.sequence;
  return {};
}

// Which flash attention: named, or what the software of the year came with.
AttentionKernel flash_of(const std::string& words, const std::string& kernel, int year) {
  if (contains(words, "foundry")) {
    return AttentionKernel::kFlash1;  // its biases kept it from skipping causal blocks
  }
  if (contains(kernel, "cudnn") || contains(kernel, "te fused") || contains(kernel, "transformer engine")) {
    return AttentionKernel::kCudnn;
  }
  if (contains(kernel, "flashattention-3") || contains(kernel, "flash-attention 3") || contains(kernel, "fa3")) {
    return AttentionKernel::kFlash3;
  }
  const bool xla = contains(words, "jax") || contains(words, "maxtext");
  const bool torch = !xla && (contains(words, "torchtitan") || contains(words, "nanotron") || contains(words, "fsdp") ||
                              contains(words, "deepspeed") || contains(words, "internevo"));
  if (contains(kernel, "flash") || contains(kernel, "sdpa") || (torch && kernel.empty())) {
    return year <= 2022 ? AttentionKernel::kFlash1 : AttentionKernel::kFlash2;
  }
  return AttentionKernel::kCudnn;
}

SoftwareWords software_of(const PublishedRun& run, const std::string& generation) {
  const std::string words =
      lower_case(run.source_key + " " + run.source + " " + run.parallelism.overlap + " " + run.parallelism.sharding);
  const std::string kernel = lower_case(run.parallelism.attention_kernel);
  SoftwareWords software;
  software.generation = generation;
  software.year = run.year;
  software.kind = contains(words, "maxtext") || contains(words, "jax")  ? "xla"
                  : contains(words, "llmc") || contains(words, "llm.c") ? "llm.c"
                  : contains(words, "nanotron")                         ? "nanotron"
                  : contains(words, "foundry") || contains(words, "torchtitan") || contains(words, "automodel")
                      ? "fsdp"
                      : "megatron";
  const bool old = run.year > 0 && run.year <= 2023 && software.kind == "megatron";
  const bool unfused = contains(kernel, "no flash") || contains(kernel, "pre-flash") ||
                       contains(kernel, "fused softmax") || (kernel.empty() && old);
  software.attention = unfused ? AttentionKernel::kUnfused : flash_of(words, kernel, run.year);
  const bool eager = contains(words, "foundry") || contains(words, "fsdp paper") || software.kind == "nanotron" ||
                     (contains(words, "torchtitan") && !contains(words, "compile"));
  software.fused = !unfused && !eager;
  software.sliced_transfer = !contains(words, "deepspeed") && !contains(words, "bloom") && !contains(words, "vtrain");
  software.post_validation = contains(words, "zero-bubble") || contains(words, "zero bubble");
  // Megatron-LM from early 2022 on; DeepSpeed and autograd add in a kernel of their own.
  software.fused_accumulation =
      software.fused || (software.kind == "megatron" && software.sliced_transfer && run.year >= 2022);
  software.early_stop = software.kind == "fsdp";
  return software;
}

// Model FLOPs of a token, forward and backward.
double row_flops(const Workload& workload, AttentionConvention convention) {
  const ModelSpec& model = workload.model;
  double weights = static_cast<double>(model.hidden) * static_cast<double>(model.vocabulary);
  double scores = 0.0;
  for (std::int64_t layer = 0; layer < model.layers; ++layer) {
    const LayerShape shape = layer_shape(model, layer);
    weights += static_cast<double>(active_weight_count(shape));
    const double keys = convention == AttentionConvention::kFull ? static_cast<double>(workload.sequence)
                                                                 : mean_keys(shape.attention, workload.sequence);
    scores += keys * static_cast<double>(shape.attention.heads) *
              static_cast<double>(shape.attention.query_key_size + shape.attention.value_size);
  }
  constexpr double kForwardAndBackward = 3.0;
  return kForwardAndBackward * 2.0 * (weights + scores);
}

// Tokens a second of a GPU, as measured; nothing where the row has no figure.
std::optional<double> measured_rate(const PublishedRun& run, const ThroughputCase& made) {
  const double gpus = static_cast<double>(run.gpus);
  if (run.step_s && *run.step_s > 0.0 && made.workload.global_batch > 0) {
    return made.tokens_per_step() / *run.step_s / gpus;
  }
  if (run.tokens_per_s_per_gpu && *run.tokens_per_s_per_gpu > 0.0) {
    return run.tokens_per_s_per_gpu;
  }
  constexpr double kTera = 1e12;
  const auto flops = [&](AttentionConvention convention) { return row_flops(made.workload, convention); };
  if (run.model_tflops) {
    const bool causal = contains(run.source_key, "modelzoo") || contains(run.source_key, "bridge") ||
                        contains(run.source_key, "automodel");
    return *run.model_tflops * kTera / flops(causal ? AttentionConvention::kCausal : AttentionConvention::kFull);
  }
  if (run.hardware_tflops) {
    // Recomputed layers counted, the head once: 96 B s l h^2 (1 + s/6h + V/16lh), Narayanan et al. 2021.
    const ModelSpec& model = made.workload.model;
    const double head = 6.0 * static_cast<double>(model.hidden) * static_cast<double>(model.vocabulary);
    const double all = flops(AttentionConvention::kFull);
    const double repeated = run.parallelism.recompute == "full" ? (all - head) / 3.0 : 0.0;
    return *run.hardware_tflops * kTera / (all + repeated);
  }
  return std::nullopt;
}

void fill_measured(const PublishedRun& run, const ThroughputExclusions& exclusions, ThroughputCase& made) {
  const std::optional<double> rate = measured_rate(run, made);
  made.tokens_per_s_per_gpu = rate.value_or(0.0);
  if (const auto found = exclusions.rows.find(run.id); found != exclusions.rows.end()) {
    made.flags.push_back("excluded: " + found->second);
    made.excluded = true;
  }
  if (const auto found = exclusions.apart.find(run.group); found != exclusions.apart.end()) {
    made.flags.push_back("doubtful: " + found->second);
    made.apart = true;
  }
  if (!run.score_ready) {
    made.flags.emplace_back("not_score_ready");
    made.excluded = true;
  }
  if (!run.newest) {
    made.flags.emplace_back("measured_again_later");
    made.excluded = true;
  }
}

}  // namespace

ThroughputCase make_case(const PublishedRun& run, const ThroughputExclusions& exclusions) {
  ThroughputCase made;
  made.run = run;
  made.reason = run.malformed.empty() ? why_unusable(run) : run.malformed;
  if (!made.reason.empty()) {
    return made;
  }
  made.reason = fill_model(run, made);
  if (!made.reason.empty()) {
    return made;
  }
  const std::optional<DescribedMachine> machine =
      described_machine({run.gpu, run.intra_link, run.inter_link, run.gpus, run.gpus_per_node, run.gpu_memory_gb});
  if (!machine) {
    made.reason = run.gpu.empty() ? "hardware.gpu isn't stated" : "an accelerator we have no data for: " + run.gpu;
    return made;
  }
  made.machine = *machine;
  made.software = software_of(run, machine->generation);
  made.reason = row_layouts(run, made);
  if (made.reason.empty()) {
    fill_measured(run, exclusions, made);
    if (made.tokens_per_s_per_gpu <= 0.0) {
      made.excluded = true;
      made.flags.emplace_back("nothing_measured");
    }
  }
  return made;
}

std::vector<ThroughputCase> make_cases(const std::vector<PublishedRun>& runs, const ThroughputExclusions& exclusions) {
  std::vector<ThroughputCase> cases;
  cases.reserve(runs.size());
  for (const PublishedRun& run : runs) {
    cases.push_back(make_case(run, exclusions));
  }
  return cases;
}

ThroughputExclusions parse_throughput_exclusions(const std::string& text, const std::string& where) {
  ObjectReader root = parse_json_object(text, where);
  root.document("throughput_exclusions", 1);
  ThroughputExclusions exclusions;
  root.for_each_object("rows", [&](ObjectReader& entry) {
    const std::string reason = entry.text("reason");
    for (const std::string& id : entry.texts("ids")) {
      exclusions.rows[id] = reason;
    }
  });
  root.for_each_object("apart", [&](ObjectReader& entry) {
    const std::string reason = entry.text("reason");
    for (const std::string& group : entry.texts("groups")) {
      exclusions.apart[group] = reason;
    }
  });
  root.finish();
  return exclusions;
}

}  // namespace trainyard::simulator
