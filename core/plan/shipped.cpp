#include "core/plan/shipped.h"

#include <algorithm>
#include <filesystem>

#include "core/document/nearest_name.h"
#include "core/document/read_file.h"
#include "core/error.h"
#include "core/model/huggingface.h"

namespace trainyard {

namespace {

bool is_file(const std::filesystem::path& path) {
  std::error_code ignored;
  return std::filesystem::exists(path, ignored) && !std::filesystem::is_directory(path, ignored);
}

std::string hint_for(const std::string& word, std::span<const ShippedFile> shipped) {
  std::vector<std::string> names;
  std::string all;
  for (const ShippedFile& file : shipped) {
    names.emplace_back(file.name);
    all += (all.empty() ? "" : ", ") + std::string(file.name);
  }
  if (const auto near = nearest_name(word, names)) {
    return "did you mean \"" + *near + "\"?";
  }
  return "give a file, or one of: " + all;
}

}  // namespace

OpenedText open_text(const std::string& word, std::span<const ShippedFile> shipped, const std::string& option) {
  if (is_file(word)) {
    return {read_text_file(word), word};
  }
  const auto found = std::ranges::find(shipped, word, &ShippedFile::name);
  if (found == shipped.end()) {
    std::error_code ignored;
    if (std::filesystem::is_directory(word, ignored)) {
      throw Error("\"" + word + "\" is a folder, not a file", option, "the file in it, a config.json say");
    }
    throw Error("there is no file \"" + word + "\" and nothing of that name", option, hint_for(word, shipped));
  }
  return {std::string(found->text), word};
}

ModelSpec open_model(const std::string& word, const std::string& option) {
  if (is_file(word)) {
    return read_huggingface_config(word);
  }
  // The name may have dots of its own: "llama-3.1-405b".
  ModelSpec model = parse_huggingface_config(open_text(word, shipped_models(), option).text, word + ".json");
  model.name = word;
  return model;
}

Fabric open_fabric(const std::string& word, const std::string& option) {
  const OpenedText opened = open_text(word, shipped_clusters(), option);
  return parse_fabric(opened.text, opened.where);
}

Accelerator open_accelerator(const std::string& name, const std::string& cluster) {
  if (!cluster.empty()) {
    const std::filesystem::path folder = std::filesystem::path(cluster).parent_path();
    for (const std::filesystem::path& file :
         {folder / ".." / "accelerators" / (name + ".json"), folder / (name + ".json")}) {
      if (is_file(file)) {
        return read_accelerator(file.lexically_normal());
      }
    }
  }
  const OpenedText opened = open_text(name, shipped_accelerators(), cluster.empty() ? "--accelerator" : cluster);
  return parse_accelerator(opened.text, opened.where);
}

}  // namespace trainyard
