// Provenance: which tool and which inputs made a document.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "core/document/content_hash.h"

namespace trainyard {

std::string_view tool_version();

struct Provenance {
  std::string tool = "trainyard";
  std::string version;
  std::map<std::string, std::string> inputs;  // what ("model", "profile", ...) -> "xxh128:HEX" of its bytes
  friend bool operator==(const Provenance&, const Provenance&) = default;
};

}  // namespace trainyard
