#include "core/plan/provenance.h"

#include <fmt/format.h>
#include <xxhash.h>

namespace trainyard {

std::string_view tool_version() { return TRAINYARD_VERSION; }

std::string content_hash(std::string_view bytes) {
  const XXH128_hash_t hash = XXH3_128bits(bytes.data(), bytes.size());
  return fmt::format("xxh128:{:016x}{:016x}", hash.high64, hash.low64);
}

}  // namespace trainyard
