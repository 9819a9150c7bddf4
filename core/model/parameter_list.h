// ParameterList: parameters in order, each under its family's prefix.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/model/parameter.h"

namespace trainyard {

class ParameterList {
 public:
  explicit ParameterList(const ModelSpec& model) : model_(model) {}

  // What follows is named `prefix` + name, of this layer (or none).
  void under(std::string prefix, std::optional<int> layer);
  // A tensor whose name is whole already.
  void tensor(ParameterKind kind, const std::string& name, std::vector<std::int64_t> shape,
              ParameterPart part = ParameterPart::kWeight, std::optional<int> expert = {});
  // NAME.weight [outputs, inputs], and NAME.bias [outputs].
  void product(ParameterKind kind, const std::string& name, std::int64_t outputs, std::int64_t inputs,
               bool bias = false, std::optional<int> expert = {});
  // As GPT-2's Conv1D stores it: [inputs, outputs].
  void transposed(ParameterKind kind, const std::string& name, std::int64_t outputs, std::int64_t inputs);
  // NAME.weight, and NAME.bias where the model's norms shift.
  void norm(ParameterKind kind, const std::string& name, std::int64_t elements);

  std::vector<Parameter> take() { return std::move(list_); }

 private:
  const ModelSpec& model_;
  std::string prefix_;
  std::optional<int> layer_;
  std::vector<Parameter> list_;
};

// A layer in the naming of each family: of Llama's kin (with latent attention, experts, windows, ...), and of GPT's.
void add_llama_layer(ParameterList& list, const ModelSpec& model, int layer);
void add_gpt_layer(ParameterList& list, const ModelSpec& model);

}  // namespace trainyard
