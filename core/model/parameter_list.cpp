#include "core/model/parameter_list.h"

namespace trainyard {

namespace {

bool gpt_dialect(ModelFamily family) {
  return family == ModelFamily::kGpt2 || family == ModelFamily::kBloom || family == ModelFamily::kOpt ||
         family == ModelFamily::kFalcon;
}

std::string layers_prefix(ModelFamily family) {
  switch (family) {
    case ModelFamily::kOpt:
      return "model.decoder.layers.";
    case ModelFamily::kGpt2:
    case ModelFamily::kBloom:
    case ModelFamily::kFalcon:
      return "transformer.h.";
    default:
      return "model.layers.";
  }
}

void add_layer(ParameterList& list, const ModelSpec& model, int layer) {
  list.under(layers_prefix(model.family) + std::to_string(layer) + ".", layer);
  if (gpt_dialect(model.family)) {
    add_gpt_layer(list, model);
  } else {
    add_llama_layer(list, model, layer);
  }
  list.under("", {});
}

void add_embedding(ParameterList& list, const ModelSpec& model) {
  const auto table = [&](const char* name) {
    list.product(ParameterKind::kEmbedding, name, model.vocabulary, model.hidden);
  };
  const auto positions = [&](const char* name) {
    list.product(ParameterKind::kPositionEmbedding, name, position_rows(model), model.hidden);
  };
  switch (model.family) {
    case ModelFamily::kGpt2:
      table("transformer.wte");
      return positions("transformer.wpe");
    case ModelFamily::kOpt:
      table("model.decoder.embed_tokens");
      return positions("model.decoder.embed_positions");
    case ModelFamily::kBloom:
      table("transformer.word_embeddings");
      return list.norm(ParameterKind::kEmbeddingNorm, "transformer.word_embeddings_layernorm", model.hidden);
    case ModelFamily::kFalcon:
      return table("transformer.word_embeddings");
    default:
      return table("model.embed_tokens");
  }
}

const char* final_norm_name(ModelFamily family) {
  switch (family) {
    case ModelFamily::kOpt:
      return "model.decoder.final_layer_norm";
    case ModelFamily::kGpt2:
    case ModelFamily::kBloom:
    case ModelFamily::kFalcon:
      return "transformer.ln_f";
    default:
      return "model.norm";
  }
}

}  // namespace

void ParameterList::under(std::string prefix, std::optional<int> layer) {
  prefix_ = std::move(prefix);
  layer_ = layer;
}

void ParameterList::tensor(ParameterKind kind, const std::string& name, std::vector<std::int64_t> shape,
                           ParameterPart part, std::optional<int> expert) {
  list_.push_back({kind, layer_, prefix_ + name, std::move(shape), part, expert});
}

void ParameterList::product(ParameterKind kind, const std::string& name, std::int64_t outputs, std::int64_t inputs,
                            bool bias, std::optional<int> expert) {
  tensor(kind, name + ".weight", {outputs, inputs}, ParameterPart::kWeight, expert);
  if (bias) {
    tensor(kind, name + ".bias", {outputs}, ParameterPart::kBias, expert);
  }
}

void ParameterList::transposed(ParameterKind kind, const std::string& name, std::int64_t outputs, std::int64_t inputs) {
  tensor(kind, name + ".weight", {inputs, outputs});
  tensor(kind, name + ".bias", {outputs}, ParameterPart::kBias);
}

void ParameterList::norm(ParameterKind kind, const std::string& name, std::int64_t elements) {
  tensor(kind, name + ".weight", {elements});
  if (model_.normalization == Normalization::kLayer) {
    tensor(kind, name + ".bias", {elements}, ParameterPart::kBias);
  }
}

std::vector<Parameter> layer_parameters(const ModelSpec& model, int layer) {
  ParameterList list(model);
  add_layer(list, model, layer);
  return list.take();
}

std::vector<Parameter> parameters(const ModelSpec& model) {
  ParameterList list(model);
  add_embedding(list, model);
  for (int layer = 0; layer < model.layers; ++layer) {
    add_layer(list, model, layer);
  }
  list.norm(ParameterKind::kFinalNorm, final_norm_name(model.family), model.hidden);
  if (!model.tied_embeddings) {
    list.product(ParameterKind::kHead, "lm_head", model.vocabulary, model.hidden);
  }
  return list.take();
}

std::vector<Parameter> multi_token_parameters(const ModelSpec& model) {
  ParameterList list(model);
  for (std::int64_t block = 0; block < model.multi_token_layers; ++block) {
    const int layer = static_cast<int>(model.layers + block);
    list.under(layers_prefix(model.family) + std::to_string(layer) + ".", layer);
    list.norm(ParameterKind::kMultiTokenNorm, "enorm", model.hidden);
    list.norm(ParameterKind::kMultiTokenNorm, "hnorm", model.hidden);
    list.product(ParameterKind::kMultiTokenProjection, "eh_proj", model.hidden, 2 * model.hidden);
    add_llama_layer(list, model, static_cast<int>(model.layers - 1));  // its kind of layer, under this one's name
    list.norm(ParameterKind::kMultiTokenNorm, "shared_head.norm", model.hidden);
  }
  return list.take();
}

}  // namespace trainyard
