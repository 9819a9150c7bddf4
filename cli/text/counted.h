// "1 rank", "2 ranks": a count and its noun.
#pragma once

#include <cstdint>
#include <string>

namespace trainyard::cli {

inline std::string counted(std::int64_t count, const std::string& noun) {
  return std::to_string(count) + " " + noun + (count == 1 ? "" : "s");
}

}  // namespace trainyard::cli
