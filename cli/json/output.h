// The --json form of a verb's answer: one object on standard output. docs/json.md documents each.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace trainyard::cli {

// Indented, keys in the order they were added, a newline at the end. Numbers that are not finite are null.
void print_json(const nlohmann::ordered_json& object);

// {"error": {"problem": ..., "where": ..., "hint": ...}}
void print_error_json(const std::string& problem, const std::string& where, const std::string& hint);

}  // namespace trainyard::cli
