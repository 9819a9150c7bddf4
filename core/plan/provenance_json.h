// Provenance inside a document: {"tool": ..., "version": ..., "inputs": {"model": "xxh128:..."}}.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "core/document/object_reader.h"
#include "core/plan/provenance.h"

namespace trainyard {

// Key "provenance" of `parent`; absent: an empty one, as in a plan written by hand.
Provenance read_provenance(ObjectReader& parent);
nlohmann::ordered_json provenance_json(const Provenance& provenance);

}  // namespace trainyard
