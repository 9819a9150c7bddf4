// JSON pointers (RFC 6901) as file#/a/b, and the names of JSON's types in messages.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace trainyard {

// "plan.json" + "layout" -> "plan.json#/layout"; "plan.json#/layout" + "a/b" -> "plan.json#/layout/a~1b".
std::string child_pointer(std::string_view pointer, std::string_view key);

// "an object", "a string", ...
const char* json_type_name(const nlohmann::json& value);

}  // namespace trainyard
