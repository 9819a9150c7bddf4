// Looking for words in text that people and tools wrote: case put aside, parts found. ASCII letters only.
#pragma once

#include <string>
#include <string_view>

namespace trainyard {

std::string lower_case(std::string_view text);
bool contains(std::string_view text, std::string_view part);

}  // namespace trainyard
