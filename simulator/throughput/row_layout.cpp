#include "simulator/throughput/row_layout.h"

#include <algorithm>
#include <array>
#include <regex>

#include "core/document/text_match.h"
#include "simulator/throughput/throughput_case.h"

namespace trainyard::simulator {

namespace {

int small(std::optional<std::int64_t> value, std::int64_t otherwise) {
  return static_cast<int>(std::clamp<std::int64_t>(value.value_or(otherwise), 1, 1 << 24));
}

DataType precision_of(const std::string& words) {
  const std::string text = lower_case(words);
  if (contains(text, "nvfp4") || contains(text, "fp4")) {
    return DataType::kNvFp4;
  }
  if (contains(text, "mxfp8") || contains(text, "fp8-mx")) {
    return DataType::kMxFp8;
  }
  if (contains(text, "fp8") || contains(text, "float8")) {
    return DataType::kFp8;
  }
  if (text.rfind("fp16", 0) == 0) {
    return DataType::kFp16;
  }
  return text.rfind("fp32", 0) == 0 ? DataType::kFp32 : DataType::kBf16;
}

int zero_stage_of(const std::string& words) {
  const std::string text = lower_case(words);
  if (contains(text, "fsdp") || contains(text, "full_shard") || contains(text, "zero-3") || contains(text, "zero3")) {
    return 3;
  }
  if (contains(text, "zero-2") || contains(text, "zero2")) {
    return 2;
  }
  const bool one = contains(text, "zero-1") || contains(text, "zero1") || contains(text, "distributed opt");
  return one ? 1 : 0;
}

void fill_overlap(const PublishedRun& run, Layout& layout) {
  const std::string text = lower_case(run.parallelism.overlap);
  const bool recipe = contains(text, "recipe defaults") || contains(text, "defaults (not restated)");
  const bool none = contains(text, "no overlap");
  const auto said = [&](const std::string& what) {
    return !none && contains(text, what) && !contains(text, what + " off") && !contains(text, "no " + what);
  };
  // Every framework of these years reduces and gathers behind compute unless told not to.
  const bool modern = run.year >= 2023 && run.source_key != "vtrain" && !none;
  layout.overlap_gradient_reduce = recipe || modern || said("grad-reduce");
  layout.overlap_parameter_gather = recipe || modern || said("param-gather");
  layout.overlap_tensor = recipe || said("tp overlap") || contains(text, "async tp");
  layout.overlap_pipeline = recipe || said("pp p2p overlap");
  // Recipes hide the experts' exchange behind another micro-batch where it leaves the node and chunks allow it.
  const bool far = layout.expert > run.gpus_per_node && !contains(lower_case(run.gpu), "nvl72");
  layout.overlap_expert = contains(lower_case(run.notes), "all-to-all overlap on") ||
                          (recipe && far && run.parallelism.vpp.value_or(1) > 1);
}

void fill_types(const PublishedRun& run, const SoftwareWords& software, Layout& layout) {
  const std::string words = lower_case(run.parallelism.precision + " " + run.parallelism.overlap);
  const std::string sharding = lower_case(run.parallelism.sharding);
  layout.compute_type = precision_of(run.parallelism.precision);
  layout.parameter_type = layout.compute_type == DataType::kFp16 ? DataType::kFp16 : DataType::kBf16;
  layout.communication_type = layout.parameter_type;
  layout.optimizer_type = DataType::kFp32;
  // Megatron sums gradients in fp32 unless told; NVIDIA's performance recipes tell it not to.
  const bool recipes = contains(run.source_key, "dgxc") || contains(run.source_key, "bridge") ||
                       contains(run.source_key, "modelzoo") || contains(run.source_key, "nemo");
  const bool pure = contains(sharding, "pure") || software.kind == "llm.c";
  const bool half = layout.compute_type == DataType::kFp16 && software.attention == AttentionKernel::kUnfused;
  layout.gradient_type = recipes || pure || half ? DataType::kBf16 : DataType::kFp32;
  if (contains(words, "fp32 gradient")) {
    layout.gradient_type = DataType::kFp32;
  }
}

void fill_schedule(const PublishedRun& run, Layout& layout, std::int64_t chunks) {
  const std::string text = lower_case(run.parallelism.schedule);
  layout.chunks_per_stage = static_cast<int>(chunks);
  layout.schedule = chunks > 1 ? ScheduleKind::kInterleaved : ScheduleKind::k1f1b;
  if (contains(text, "dualpipe")) {
    layout.schedule = ScheduleKind::kDualPipe;
    layout.chunks_per_stage = 2;
  } else if (contains(text, "zb-v") || contains(text, "zbv")) {
    layout.schedule = ScheduleKind::kZeroBubbleV;
    layout.chunks_per_stage = 2;
  } else if (contains(text, "zb-2p") || contains(text, "zb-h2")) {
    layout.schedule = ScheduleKind::kZeroBubbleH2;
  } else if (contains(text, "zb-1p") || contains(text, "zb-h1")) {
    layout.schedule = ScheduleKind::kZeroBubbleH1;
  } else if (contains(text, "gpipe")) {
    layout.schedule = ScheduleKind::kGpipe;
  }
}

// Embedding and loss (and multi-token layers) count as a layer each where that makes the chunks even.
void fill_chunk_layers(const ModelSpec& model, Layout& layout) {
  const std::int64_t chunks =
      std::int64_t{layout.pipeline} * (layout.schedule == ScheduleKind::kDualPipe ? 1 : layout.chunks_per_stage);
  const std::int64_t with_ends = model.layers + model.multi_token_layers + 2;
  if (chunks == 1 || model.layers % chunks == 0 || with_ends % chunks != 0) {
    return;
  }
  const auto each = static_cast<int>(with_ends / chunks);
  if (each - 1 - model.multi_token_layers < 0) {
    return;
  }
  layout.chunk_layers.assign(static_cast<std::size_t>(chunks), each);
  layout.chunk_layers.front() = each - 1;
  layout.chunk_layers.back() = each - 1 - static_cast<int>(model.multi_token_layers);
}

std::vector<Recompute> recomputes(const PublishedRun& run, ThroughputCase& made) {
  const std::string text = lower_case(run.parallelism.recompute);
  const bool activations = contains(run.notes, "moe_act");
  if (text.rfind("full", 0) == 0) {
    return {Recompute::kFull};
  }
  if (text.rfind("selective", 0) == 0 || text.rfind("partial", 0) == 0) {
    // Norms and activations alone cost next to nothing.
    const bool scores = (text == "selective" && !activations) || contains(text, "attn") || contains(text, "attention");
    return {scores ? Recompute::kSelective : Recompute::kNone};
  }
  if (text.rfind("none", 0) != 0) {
    made.flags.emplace_back("recompute_open");
  }
  return {Recompute::kNone};
}

std::vector<std::int64_t> micro_batches(const PublishedRun& run, std::int64_t per_replica, ThroughputCase& made) {
  if (run.parallelism.micro_batch) {
    return {std::max<std::int64_t>(1, *run.parallelism.micro_batch)};
  }
  if (run.parallelism.accumulation && *run.parallelism.accumulation > 0) {
    return {std::max<std::int64_t>(1, per_replica / *run.parallelism.accumulation)};
  }
  made.flags.emplace_back("micro_batch_open");
  std::vector<std::int64_t> sizes;
  for (const std::int64_t size : {1, 2, 4}) {
    if (per_replica % size == 0) {
      sizes.push_back(size);
    }
  }
  return sizes;
}

std::vector<std::int64_t> chunk_counts(const PublishedRun& run, const Layout& layout, ThroughputCase& made) {
  if (run.parallelism.vpp || layout.pipeline == 1) {
    return {layout.pipeline == 1 ? 1 : std::max<std::int64_t>(1, *run.parallelism.vpp)};
  }
  if (!contains(lower_case(run.parallelism.schedule), "interleav")) {
    return {1};
  }
  made.flags.emplace_back("interleave_open");
  std::vector<std::int64_t> counts;
  const std::int64_t layers = made.workload.model.layers;
  for (std::int64_t count = 2; count * layout.pipeline <= layers + 2 && count <= 12; ++count) {
    if (layers % (count * layout.pipeline) == 0 || (layers + 2) % (count * layout.pipeline) == 0) {
      counts.push_back(count);
    }
  }
  return counts.empty() ? std::vector<std::int64_t>{2} : counts;
}

std::string fill_degrees(const PublishedRun& run, Layout& layout, ThroughputCase& made) {
  const PublishedParallelism& row = run.parallelism;
  layout.tensor = small(row.tp, 1);
  layout.pipeline = small(row.pp, 1);
  layout.context = small(row.cp, 1);
  layout.expert = small(row.ep, 1);
  layout.expert_tensor = row.etp ? small(row.etp, 1) : 1;
  if (!row.tp || !row.pp) {
    return "tp and pp aren't stated";
  }
  const std::int64_t others = std::int64_t{layout.tensor} * layout.pipeline * layout.context;
  if (run.gpus <= 0 || run.gpus % others != 0) {
    return "tp x pp x cp doesn't divide the GPUs";
  }
  layout.data = static_cast<int>(run.gpus / others);
  if (row.dp && *row.dp != layout.data) {
    made.flags.emplace_back("dp_of_the_gpus");  // the stated one doesn't give the GPUs
  }
  const std::int64_t plane = run.gpus / layout.pipeline;
  if (plane % (std::int64_t{layout.expert} * layout.expert_tensor) != 0) {
    return "ep x etp doesn't divide the GPUs of a stage";
  }
  return {};
}

}  // namespace

std::string row_layouts(const PublishedRun& run, ThroughputCase& made) {
  Layout layout;
  std::string reason = fill_degrees(run, layout, made);
  if (!reason.empty()) {
    return reason;
  }
  const PublishedParallelism& row = run.parallelism;
  if (!row.global_batch || *row.global_batch < layout.data) {
    return "no global batch, or one below the data-parallel degree";
  }
  made.workload.global_batch = *row.global_batch;
  layout.sequence_parallel = layout.tensor > 1 && (row.sequence_parallel.value_or(run.year >= 2023) ||
                                                   made.workload.model.experts.has_value());
  layout.zero_stage = zero_stage_of(row.sharding);
  if (layout.zero_stage == 0 && row.sharding.empty() && run.year >= 2023 && run.source_key != "vtrain" &&
      run.source_key != "zero-bubble") {
    layout.zero_stage = 1;
    made.flags.emplace_back("zero_assumed");
  }
  const std::regex degree(R"(shard degree (\d{1,7}))");
  std::smatch match;
  if (std::regex_search(row.sharding, match, degree)) {
    // torchtitan's degree leaves out cp, over which FSDP shards too.
    const int group = std::max(1, std::stoi(match[1])) * layout.context;
    if (group < layout.data * layout.context) {
      layout.shard_group = group;
    }
  }
  if (contains(lower_case(run.notes), "ulysses") || contains(lower_case(run.notes), "all-to-all (ulysses)")) {
    layout.context_kind = ContextKind::kUlysses;
  }
  fill_overlap(run, layout);
  fill_types(run, made.software, layout);
  const std::int64_t per_replica = *row.global_batch / layout.data;
  for (const std::int64_t micro : micro_batches(run, per_replica, made)) {
    for (const std::int64_t chunks : chunk_counts(run, layout, made)) {
      for (const Recompute recompute : recomputes(run, made)) {
        Layout one = layout;
        one.micro_batch = micro;
        one.accumulation = std::max<std::int64_t>(1, per_replica / micro);
        one.recompute = recompute;
        fill_schedule(run, one, chunks);
        fill_chunk_layers(made.workload.model, one);
        made.layouts.push_back(one);
      }
    }
  }
  std::sort(made.flags.begin(), made.flags.end());
  made.flags.erase(std::unique(made.flags.begin(), made.flags.end()), made.flags.end());
  return {};
}

}  // namespace trainyard::simulator
