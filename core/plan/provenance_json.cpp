#include "core/plan/provenance_json.h"

#include <nlohmann/json.hpp>

namespace trainyard {

Provenance read_provenance(ObjectReader& parent) {
  Provenance provenance;
  if (std::optional<ObjectReader> reader = parent.optional_object("provenance")) {
    provenance.tool = reader->text("tool");
    provenance.version = reader->text("version");
    provenance.inputs = reader->text_map("inputs");
    reader->finish();
  }
  return provenance;
}

nlohmann::ordered_json provenance_json(const Provenance& provenance) {
  nlohmann::ordered_json inputs = nlohmann::ordered_json::object();
  for (const auto& [name, hash] : provenance.inputs) {
    inputs[name] = hash;
  }
  return {{"tool", provenance.tool}, {"version", provenance.version}, {"inputs", inputs}};
}

}  // namespace trainyard
