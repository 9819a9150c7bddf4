#include "core/document/json_pointer.h"

#include <nlohmann/json.hpp>

namespace trainyard {

std::string child_pointer(std::string_view pointer, std::string_view key) {
  std::string child(pointer);
  child += pointer.find('#') == std::string_view::npos ? "#/" : "/";
  for (const char c : key) {
    if (c == '~') {
      child += "~0";
    } else if (c == '/') {
      child += "~1";
    } else {
      child += c;
    }
  }
  return child;
}

const char* json_type_name(const nlohmann::json& value) {
  switch (value.type()) {
    case nlohmann::json::value_t::object:
      return "an object";
    case nlohmann::json::value_t::array:
      return "an array";
    case nlohmann::json::value_t::string:
      return "a string";
    case nlohmann::json::value_t::boolean:
      return "true or false";
    case nlohmann::json::value_t::number_integer:
    case nlohmann::json::value_t::number_unsigned:
      return "a whole number";
    case nlohmann::json::value_t::number_float:
      return "a number with a fraction or exponent";
    case nlohmann::json::value_t::null:
      return "null";
    default:
      return "something else";
  }
}

}  // namespace trainyard
