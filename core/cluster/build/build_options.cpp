#include "core/cluster/build/build_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "core/document/nearest_name.h"
#include "core/error.h"
#include "core/units/parse_quantity.h"

namespace trainyard::build {

namespace {

std::string key_list(const BuilderInfo& info) {
  std::string list;
  for (const BuilderKey& key : info.keys) {
    list += (list.empty() ? "" : ", ") + key.name;
  }
  return list;
}

template <class T>
bool parse_whole(std::string_view text, T& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size();
}

}  // namespace

BuildOptions::BuildOptions(const BuilderInfo& info, std::string_view keys, std::string spec) : spec_(std::move(spec)) {
  std::vector<std::string> names;
  for (const BuilderKey& key : info.keys) {
    values_[key.name] = key.fallback;
    names.push_back(key.name);
  }
  while (!keys.empty()) {
    const std::size_t end = std::min(keys.find(','), keys.size());
    const std::string_view pair = keys.substr(0, end);
    keys.remove_prefix(std::min(end + 1, keys.size()));
    const std::size_t equals = pair.find('=');
    if (equals == std::string_view::npos || equals == 0) {
      fail(fmt::format("'{}' isn't key=value", pair), "keys of " + info.name + ": " + key_list(info));
    }
    const std::string key(pair.substr(0, equals));
    if (values_.find(key) == values_.end()) {
      const std::optional<std::string> nearest = nearest_name(key, names);
      fail(fmt::format("{} has no key '{}'", info.name, key),
           (nearest ? "did you mean " + *nearest + "? " : "") + "keys: " + key_list(info));
    }
    if (!given_.emplace(key, pair.substr(equals + 1)).second) {
      fail("the key '" + key + "' is given twice");
    }
    values_[key] = std::string(pair.substr(equals + 1));
  }
}

bool BuildOptions::given(std::string_view key) const { return given_.find(key) != given_.end(); }

std::string BuildOptions::text(std::string_view key) const {
  const auto found = values_.find(key);
  check(found != values_.end(), "a builder reads a key that it doesn't list");
  return found->second;
}

int BuildOptions::integer(std::string_view key, int lowest, int highest) const {
  int value = 0;
  if (!parse_whole(text(key), value) || value < lowest || value > highest) {
    fail(fmt::format("{}={}", key, text(key)), fmt::format("a whole number from {} to {}", lowest, highest));
  }
  return value;
}

double BuildOptions::number(std::string_view key, double lowest, double highest) const {
  double value = 0.0;
  if (!parse_whole(text(key), value) || !(value >= lowest && value <= highest)) {
    fail(fmt::format("{}={}", key, text(key)), fmt::format("a number from {} to {}", lowest, highest));
  }
  return value;
}

bool BuildOptions::yes(std::string_view key) const { return choice(key, {"yes", "no"}) == "yes"; }

std::string BuildOptions::choice(std::string_view key, const std::vector<std::string>& choices) const {
  std::string value = text(key);
  if (std::find(choices.begin(), choices.end(), value) == choices.end()) {
    fail(fmt::format("{}={}", key, value), fmt::format("one of {}", fmt::join(choices, ", ")));
  }
  return value;
}

std::vector<int> BuildOptions::dimensions(std::string_view key) const {
  constexpr int kLargest = 65536;
  const std::string value = text(key);
  std::vector<int> sizes;
  for (std::size_t begin = 0; begin <= value.size();) {
    const std::size_t end = std::min(value.find('x', begin), value.size());
    int size = 0;
    if (!parse_whole(std::string_view(value).substr(begin, end - begin), size) || size < 1 || size > kLargest ||
        sizes.size() == 8) {
      fail(fmt::format("{}={}", key, value), "sizes such as 4x4x8, at most eight");
    }
    sizes.push_back(size);
    begin = end + 1;
  }
  return sizes;
}

BytesPerSecond BuildOptions::rate(std::string_view key) const {
  const auto value = parse_quantity<BytesPerSecond>(text(key), spec_ + ": " + std::string(key));
  if (!(value.si() > 0.0)) {
    fail(fmt::format("{}={}", key, text(key)), "a rate above zero");
  }
  return value;
}

void BuildOptions::fail(const std::string& what, const std::string& hint) const { throw Error(what, spec_, hint); }

}  // namespace trainyard::build
