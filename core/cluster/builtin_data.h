// Files of models/ that are part of the program, as text. The build writes the source of this.
#pragma once

#include <string_view>

namespace trainyard {

std::string_view builtin_cables_text();
std::string_view builtin_devices_text();

}  // namespace trainyard
