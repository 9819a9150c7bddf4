// The network inside a plan: every field of a ModelSpec. What only some families have is written where a model has it,
// and an absent key is its default, so that plans of before those families still read.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "core/document/object_reader.h"
#include "core/model/model_spec.h"

namespace trainyard {

// Whether the sizes fit together, validate() says.
ModelSpec read_model(ObjectReader reader);
nlohmann::ordered_json model_json(const ModelSpec& model);

}  // namespace trainyard
