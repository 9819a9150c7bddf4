// What every fuzz target does with bytes: they import or are refused with an Error, and what imports round-trips
// through our own JSON.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/cluster/cluster.h"
#include "core/error.h"

namespace trainyard {

using Import = Cluster (*)(std::string_view text, const std::string& where);

constexpr std::size_t kLargestRoundTrip = 2'000;  // vertices and links; a round trip takes longer than the import

inline int fuzz_import(Import import, const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  try {
    const Cluster cluster = import(text, "fuzz");
    if (cluster.vertices().size() + cluster.links().size() <= kLargestRoundTrip) {
      check(parse_topology(to_json(cluster), "fuzz.json") == cluster, "an imported cluster round-trips through JSON");
    }
  } catch (const Error&) {
    return 0;  // refused, as a broken file may be
  }
  return 0;
}

}  // namespace trainyard
