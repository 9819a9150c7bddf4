// The text of scripts/collect.sh, part of the program.
#pragma once

#include <string_view>

namespace trainyard::cli {

std::string_view collect_script();

}  // namespace trainyard::cli
