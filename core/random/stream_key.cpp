#include <xxhash.h>

#include "core/random/philox.h"

namespace trainyard {

std::uint64_t stream_key(std::string_view name) { return XXH3_64bits(name.data(), name.size()); }

}  // namespace trainyard
