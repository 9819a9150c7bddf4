// The models, accelerators and clusters of models/, compiled in: a name stands for one wherever a file is asked for.
//
//   --model llama-3.1-405b        models/llm/llama-3.1-405b.json
//   --model my/config.json        a file
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/model/model_spec.h"
#include "core/plan/accelerator.h"

namespace trainyard {

struct ShippedFile {
  std::string_view name;  // without folder and ".json"
  std::string_view text;
};

// By name.
std::span<const ShippedFile> shipped_models();
std::span<const ShippedFile> shipped_accelerators();
std::span<const ShippedFile> shipped_clusters();
std::span<const ShippedFile> shipped_failures();  // failure profiles

// What a word stands for: the text of the file of that path, or else of that name. `where` is how errors call it.
// Throws Error for neither, with the nearest name as hint; `option` is where the word came from ("--model").
struct OpenedText {
  std::string text;
  std::string where;
};
OpenedText open_text(const std::string& word, std::span<const ShippedFile> shipped, const std::string& option);

// Of a file or of a name.
ModelSpec open_model(const std::string& word, const std::string& option = "--model");
Fabric open_fabric(const std::string& word, const std::string& option = "--cluster");

// The accelerator that a fabric names: a file of that name beside the cluster's (or in ../accelerators from there), a
// shipped one, or a path. `cluster`: the file that names it, empty for none.
Accelerator open_accelerator(const std::string& name, const std::string& cluster = {});

}  // namespace trainyard
