#include "core/plan/provenance.h"

namespace trainyard {

std::string_view tool_version() { return TRAINYARD_VERSION; }

}  // namespace trainyard
