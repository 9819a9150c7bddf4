// YAML of bounded size and depth as a tree of text: no anchors, no aliases, no tags, one document.
//
// What such a file means is its reader's business: a scalar is its text. Errors name the line. Parsed by yaml-cpp.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace trainyard {

struct YamlValue {
  enum class Kind { kNull, kScalar, kSequence, kMap };
  Kind kind = Kind::kNull;
  std::size_t line = 0;
  std::string text;              // of a scalar
  std::vector<YamlValue> items;  // of a sequence; of a map, the values of its keys
  std::vector<std::string> keys;

  const YamlValue* find(std::string_view key) const;  // null where there is no such key
};

YamlValue parse_yaml(std::string_view text, const std::string& where);

}  // namespace trainyard
