#include "executor/checkpoint/model_weights.h"

#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/document/read_file.h"
#include "core/error.h"
#include "executor/checkpoint/safetensors_file.h"

namespace trainyard::executor {

namespace {

namespace fs = std::filesystem;

std::set<std::string> files_of_index(const fs::path& index) {
  std::set<std::string> files;
  try {
    const auto document = nlohmann::json::parse(read_text_file(index));
    for (const auto& [tensor, file] : document.at("weight_map").items()) {
      const auto name = file.get<std::string>();
      if (fs::path(name).filename() != name) {
        throw Error("tensor '" + tensor + "' lies outside the folder: '" + name + "'", index.string());
      }
      files.insert(name);
    }
  } catch (const nlohmann::json::exception& problem) {
    throw Error(std::string("not an index of safetensors files: ") + problem.what(), index.string());
  }
  return files;
}

std::vector<fs::path> weight_files(const fs::path& folder) {
  if (fs::exists(folder / "model.safetensors")) {
    return {folder / "model.safetensors"};
  }
  const fs::path index = folder / "model.safetensors.index.json";
  if (!fs::exists(index)) {
    throw Error("holds neither model.safetensors nor model.safetensors.index.json", folder.string(),
                "give a folder saved by transformers or by trainyard");
  }
  std::vector<fs::path> files;
  for (const std::string& name : files_of_index(index)) {
    files.push_back(folder / name);
  }
  return files;
}

// GPT-2 as OpenAI published it has no such prefix.
constexpr std::string_view kPrefix = "transformer.";
std::string without_prefix(const std::string& name) {
  return name.starts_with(kPrefix) ? name.substr(kPrefix.size()) : name;
}

// Buffers that transformers once saved, and the second name of a tied table.
bool passed_over(const std::string& name, const ModelSpec& model) {
  if (model.family == ModelFamily::kGpt2 && (name.ends_with(".attn.bias") || name.ends_with(".attn.masked_bias"))) {
    return true;
  }
  return name.ends_with(".rotary_emb.inv_freq") || (model.tied_embeddings && name == "lm_head.weight");
}

class ModelWeights {
 public:
  ModelWeights(const fs::path& folder, const ModelSpec& model) : folder_(folder) {
    for (const fs::path& file : weight_files(folder)) {
      readers_.emplace_back(file);
    }
    std::set<std::string> wanted;
    for (const Parameter& parameter : parameters(model)) {
      require(parameter);
      wanted.insert(parameter.name);
      wanted.insert(without_prefix(parameter.name));
    }
    for (const SafetensorsReader& reader : readers_) {
      for (const StoredTensor& tensor : reader.tensors()) {
        if (!wanted.contains(tensor.name) && !passed_over(tensor.name, model)) {
          throw Error("tensor '" + tensor.name + "' is not a parameter of the model", reader.file().string(),
                      "the weights belong to another architecture than the plan's model");
        }
      }
    }
  }

  void read(const Parameter& parameter, std::span<const IndexRange> ranges, std::span<float> values) const {
    const auto [reader, tensor] = find(parameter.name);
    reader->read(*tensor, ranges, values, parts_of(parameter));
  }

 private:
  std::pair<const SafetensorsReader*, const StoredTensor*> find(const std::string& name) const {
    for (const SafetensorsReader& reader : readers_) {
      for (const std::string& spelling : {name, without_prefix(name)}) {
        if (const StoredTensor* tensor = reader.find(spelling)) {
          return {&reader, tensor};
        }
      }
    }
    throw Error("tensor '" + name + "' is missing", folder_.string(),
                "the weights belong to another architecture than the plan's model");
  }

  static std::string shape_text(const std::vector<std::int64_t>& shape) {
    std::string text;
    for (const std::int64_t size : shape) {
      text += (text.empty() ? "[" : ", ") + std::to_string(size);
    }
    return text + "]";
  }

  void require(const Parameter& parameter) const {
    const auto [reader, tensor] = find(parameter.name);
    const std::string where = reader->file().string() + ": tensor '" + parameter.name + "'";
    if (tensor->shape != parameter.shape) {
      throw Error("has shape " + shape_text(tensor->shape) + ", the model needs " + shape_text(parameter.shape), where,
                  "the weights belong to another size of model");
    }
    if (tensor->type != "F32" && tensor->type != "BF16" && tensor->type != "F16") {
      throw Error("holds " + tensor->type + " values", where, "weights must be F32, BF16 or F16");
    }
  }

  fs::path folder_;
  std::vector<SafetensorsReader> readers_;
};

}  // namespace

WeightSource open_weights(const fs::path& folder, const ModelSpec& model) {
  const auto weights = std::make_shared<const ModelWeights>(folder, model);
  return [weights](const Parameter& parameter, std::span<const IndexRange> ranges, std::span<float> values) {
    weights->read(parameter, ranges, values);
  };
}

}  // namespace trainyard::executor
