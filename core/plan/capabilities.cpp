#include "core/plan/capabilities.h"

#include <algorithm>

#include "core/program/storage_type.h"

namespace trainyard {

namespace {

template <class T>
bool among(const std::vector<T>& values, T value) {
  return std::ranges::find(values, value) != values.end();
}

// What the executor lacks, in words that complete "the cpu executor has no ...".
std::optional<std::string> missing_parallelism(const Capabilities& has, const ModelSpec& model, const Layout& layout) {
  if (layout.tensor > 1 && !has.tensor_parallel) {
    return "tensor parallelism (tensor " + std::to_string(layout.tensor) + ")";
  }
  if (layout.sequence_parallel && !has.sequence_parallel) {
    return "sequence parallelism";
  }
  if (layout.pipeline > 1 && !has.pipeline_parallel) {
    return "pipeline parallelism (pipeline " + std::to_string(layout.pipeline) + ")";
  }
  if (layout.context > 1 && !has.context_parallel) {
    return "context parallelism (context " + std::to_string(layout.context) + ")";
  }
  if ((layout.expert > 1 || layout.expert_tensor > 1) && !has.expert_parallel) {
    return "expert parallelism (expert " + std::to_string(layout.expert) + ")";
  }
  if (layout.chunks_per_stage > 1 && !has.interleaved) {
    return "interleaved stages (" + std::to_string(layout.chunks_per_stage) + " chunks per stage)";
  }
  if (model.tied_embeddings && layout.pipeline > 1 && !has.tied_embeddings_across_stages) {
    return "tied embeddings across pipeline stages";
  }
  return std::nullopt;
}

std::optional<std::string> missing_method(const Capabilities& has, const Layout& layout) {
  if (!among(has.schedules, layout.schedule)) {
    return "schedule " + std::string(to_string(layout.schedule));
  }
  if (!among(has.recompute, layout.recompute)) {
    return "recomputation " + std::string(to_string(layout.recompute));
  }
  if (layout.zero_stage > has.highest_zero_stage) {
    return "ZeRO stage " + std::to_string(layout.zero_stage) + " (highest: " + std::to_string(has.highest_zero_stage) +
           ")";
  }
  if (layout.offload != Offload{}) {
    return "offloading";
  }
  if (layout.shard_group) {
    return "hybrid sharding (shard_group)";
  }
  if (layout.recompute_every != 1) {
    return "recomputation of some layers only (recompute_every " + std::to_string(layout.recompute_every) + ")";
  }
  if (!layout.chunk_layers.empty()) {
    return "given layers of each chunk (chunk_layers)";
  }
  for (const DataType type : {layout.compute_type, layout.parameter_type, layout.gradient_type, layout.optimizer_type,
                              layout.communication_type}) {
    if (!among(has.compute_types, type)) {
      return "type " + std::string(to_string(type));
    }
  }
  const auto beside = [&](const std::string& what, DataType type) {
    return what + " in " + std::string(to_string(type)) + " beside products in " +
           std::string(to_string(layout.compute_type));
  };
  const DataType stored = storage_type(layout.compute_type);
  if (layout.parameter_type != stored) {
    return beside("weights", layout.parameter_type);
  }
  if (layout.communication_type != stored) {
    return beside("communication", layout.communication_type);
  }
  if (layout.gradient_type != stored && layout.gradient_type != DataType::kFp32) {
    return beside("gradients", layout.gradient_type);
  }
  if (layout.optimizer_type != DataType::kFp32) {
    return "optimizer state in " + std::string(to_string(layout.optimizer_type));
  }
  return std::nullopt;
}

}  // namespace

std::optional<Infeasible> why_not(const Capabilities& capabilities, const ModelSpec& model, const Layout& layout) {
  const std::string executor = "the " + capabilities.device + " executor";
  if (layout.ranks() > capabilities.max_ranks) {
    return Infeasible{.reason = InfeasibleReason::kUnsupported,
                      .detail = executor + " runs at most " + std::to_string(capabilities.max_ranks) + " ranks of " +
                                std::to_string(layout.ranks()),
                      .needed = {},
                      .available = {}};
  }
  const bool gpt2 = capabilities.gpt2_blocks && is_gpt2_block(model);
  std::optional<std::string> missing = gpt2 ? std::nullopt : beyond_llama_block(model);
  if (capabilities.gpt2_blocks && model.family == ModelFamily::kGpt2 && model.activation == Activation::kGelu) {
    missing = "GELU by the error function (\"gelu\"); it has GPT-2's own by tanh (\"gelu_new\")";
  }
  if (!missing) {
    missing = missing_parallelism(capabilities, model, layout);
  }
  if (!missing) {
    missing = missing_method(capabilities, layout);
  }
  if (!missing) {
    return std::nullopt;
  }
  return Infeasible{.reason = InfeasibleReason::kUnsupported,
                    .detail = executor + " has no " + *missing,
                    .needed = {},
                    .available = {}};
}

}  // namespace trainyard
