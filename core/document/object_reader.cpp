#include "core/document/object_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "core/document/json_pointer.h"
#include "core/document/nearest_name.h"
#include "core/error.h"

namespace trainyard {

using nlohmann::json;

namespace {

Error wrong_type(const json& value, std::string_view expected, const std::string& where) {
  return Error(fmt::format("is {}, not {}", json_type_name(value), expected), where);
}

// `where` is a function: pointers are put together only for an Error, which matters in traces of many slices.
template <class Where>
std::int64_t checked_integer(const json& value, std::int64_t lowest, std::int64_t highest, const Where& where) {
  if (!value.is_number_integer()) {
    const bool fraction = value.is_number_float();
    throw Error(fmt::format("is {}, not a whole number", json_type_name(value)), where(),
                fraction ? "write it without point and exponent" : "");
  }
  const bool too_large =
      value.is_number_unsigned() && value.get<std::uint64_t>() > static_cast<std::uint64_t>(INT64_MAX);
  const std::int64_t number = too_large ? INT64_MAX : value.get<std::int64_t>();
  if (too_large || number < lowest || number > highest) {
    const std::string range =
        highest == INT64_MAX ? fmt::format("at least {}", lowest) : fmt::format("from {} to {}", lowest, highest);
    throw Error(fmt::format("{} is out of range", value.dump()), where(), "must be " + range);
  }
  return number;
}

template <class Where>
double checked_number(const json& value, double lowest, double highest, const Where& where) {
  if (!value.is_number()) {
    throw wrong_type(value, "a number", where());
  }
  const double number = value.get<double>();
  if (number < lowest || number > highest) {
    throw Error(fmt::format("{} is out of range", number), where(),
                fmt::format("must be from {} to {}", lowest, highest));
  }
  return number;
}

}  // namespace

ObjectReader::ObjectReader(std::shared_ptr<const json> root, const json* node, std::string where)
    : root_(std::move(root)),
      node_(node),
      where_(std::move(where)),
      asked_(std::make_shared<std::vector<std::string>>()) {}

std::string ObjectReader::where() const { return where_; }
std::string ObjectReader::where(std::string_view key) const { return child_pointer(where_, key); }

void ObjectReader::fail(std::string_view key, const std::string& what, const std::string& hint) const {
  throw Error(what, where(key), hint);
}

const json* ObjectReader::find(std::string_view key) {
  ignore(key);
  const auto found = node_->find(key);
  return found == node_->end() ? nullptr : &*found;
}

const json& ObjectReader::require(std::string_view key) {
  const json* value = find(key);
  if (value == nullptr) {
    throw Error(fmt::format("key \"{}\" is missing", key), where_);
  }
  return *value;
}

const json& ObjectReader::require_array(std::string_view key) {
  const json& value = require(key);
  if (!value.is_array()) {
    throw wrong_type(value, "an array", where(key));
  }
  return value;
}

bool ObjectReader::has(std::string_view key) {
  const json* value = find(key);
  return value != nullptr && !value->is_null();
}

bool ObjectReader::is_null(std::string_view key) {
  const json* value = find(key);
  return value != nullptr && value->is_null();
}

void ObjectReader::ignore(std::string_view key) {
  if (std::ranges::find(*asked_, key) == asked_->end()) {
    asked_->emplace_back(key);
  }
}

std::int64_t ObjectReader::integer(std::string_view key, std::int64_t lowest, std::int64_t highest) {
  return checked_integer(require(key), lowest, highest, [&] { return where(key); });
}

std::optional<std::int64_t> ObjectReader::optional_integer(std::string_view key, std::int64_t lowest,
                                                           std::int64_t highest) {
  return has(key) ? std::optional(integer(key, lowest, highest)) : std::nullopt;
}

int ObjectReader::small_integer(std::string_view key, int lowest, int highest) {
  return static_cast<int>(integer(key, lowest, highest));
}

std::optional<int> ObjectReader::optional_small_integer(std::string_view key, int lowest, int highest) {
  return has(key) ? std::optional(small_integer(key, lowest, highest)) : std::nullopt;
}

std::uint64_t ObjectReader::seed(std::string_view key) {
  const json& value = require(key);
  if (!value.is_number_unsigned()) {
    throw Error(fmt::format("{} is not an unsigned 64-bit number", value.dump()), where(key),
                "must be from 0 to 18446744073709551615");
  }
  return value.get<std::uint64_t>();
}

double ObjectReader::number(std::string_view key, double lowest, double highest) {
  return checked_number(require(key), lowest, highest, [&] { return where(key); });
}

std::optional<double> ObjectReader::optional_number(std::string_view key, double lowest, double highest) {
  return has(key) ? std::optional(number(key, lowest, highest)) : std::nullopt;
}

double ObjectReader::number_or_nan(std::string_view key) {
  return require(key).is_null() ? std::numeric_limits<double>::quiet_NaN() : number(key);
}

bool ObjectReader::boolean(std::string_view key) {
  const json& value = require(key);
  if (!value.is_boolean()) {
    throw wrong_type(value, "true or false", where(key));
  }
  return value.get<bool>();
}

std::optional<bool> ObjectReader::optional_boolean(std::string_view key) {
  return has(key) ? std::optional(boolean(key)) : std::nullopt;
}

std::string ObjectReader::text(std::string_view key) {
  const json& value = require(key);
  if (!value.is_string()) {
    throw wrong_type(value, "a string", where(key));
  }
  return value.get<std::string>();
}

std::optional<std::string> ObjectReader::optional_text(std::string_view key) {
  return has(key) ? std::optional(text(key)) : std::nullopt;
}

std::size_t ObjectReader::index_of_name(std::string_view key, std::span<const std::string_view> names) {
  const std::string name = text(key);
  const auto found = std::ranges::find(names, name);
  if (found == names.end()) {
    fail(key, fmt::format("\"{}\" is not one of the accepted values", name),
         fmt::format("one of: {}", fmt::join(names, ", ")));
  }
  return static_cast<std::size_t>(found - names.begin());
}

double ObjectReader::quantity_si(std::string_view key, Dimension dimension) {
  const json& value = require(key);
  if (value.is_number()) {
    throw Error(fmt::format("{} is a bare number; a quantity carries its unit", value.dump()), where(key),
                unit_hint(dimension));
  }
  return parse_si(text(key), dimension, where(key));
}

ByteCount ObjectReader::byte_count(std::string_view key) {
  quantity_si(key, dimension_of(Bytes()));  // a bare number's Error
  return parse_byte_count(text(key), where(key));
}

std::optional<ByteCount> ObjectReader::optional_byte_count(std::string_view key) {
  return has(key) ? std::optional(byte_count(key)) : std::nullopt;
}

ObjectReader ObjectReader::object(std::string_view key) {
  const json& value = require(key);
  if (!value.is_object()) {
    throw wrong_type(value, "an object", where(key));
  }
  return ObjectReader(root_, &value, where(key));
}

std::optional<ObjectReader> ObjectReader::optional_object(std::string_view key) {
  return has(key) ? std::optional(object(key)) : std::nullopt;
}

std::size_t ObjectReader::array_size(std::string_view key) { return require_array(key).size(); }

std::vector<double> ObjectReader::numbers(std::string_view key) {
  std::vector<double> numbers;
  for (const json& value : require_array(key)) {
    numbers.push_back(checked_number(value, -kInfinity, kInfinity,
                                     [&] { return child_pointer(where(key), std::to_string(numbers.size())); }));
  }
  return numbers;
}

std::vector<std::int64_t> ObjectReader::integers(std::string_view key, std::int64_t lowest, std::int64_t highest) {
  std::vector<std::int64_t> integers;
  for (const json& value : require_array(key)) {
    integers.push_back(checked_integer(value, lowest, highest,
                                       [&] { return child_pointer(where(key), std::to_string(integers.size())); }));
  }
  return integers;
}

std::vector<std::string> ObjectReader::texts(std::string_view key) {
  std::vector<std::string> texts;
  for (const json& value : require_array(key)) {
    if (!value.is_string()) {
      throw wrong_type(value, "a string", child_pointer(where(key), std::to_string(texts.size())));
    }
    texts.push_back(value.get<std::string>());
  }
  return texts;
}

std::vector<std::vector<double>> ObjectReader::number_rows(std::string_view key) {
  std::vector<std::vector<double>> rows;
  for (const json& row : require_array(key)) {
    const std::string at = child_pointer(where(key), std::to_string(rows.size()));
    if (!row.is_array()) {
      throw wrong_type(row, "an array of numbers", at);
    }
    std::vector<double>& numbers = rows.emplace_back();
    for (const json& value : row) {
      numbers.push_back(checked_number(value, -kInfinity, kInfinity,
                                       [&] { return child_pointer(at, std::to_string(numbers.size())); }));
    }
  }
  return rows;
}

void ObjectReader::for_each_object(std::string_view key, const std::function<void(ObjectReader&)>& read) {
  std::size_t index = 0;
  for (const json& value : require_array(key)) {
    std::string at = child_pointer(where(key), std::to_string(index++));
    if (!value.is_object()) {
      throw wrong_type(value, "an object", at);
    }
    ObjectReader reader(root_, &value, std::move(at));
    read(reader);
    reader.finish();
  }
}

std::map<std::string, std::string> ObjectReader::text_map(std::string_view key) {
  ObjectReader reader = object(key);
  std::map<std::string, std::string> map;
  for (const auto& [name, value] : reader.node_->items()) {
    map[name] = reader.text(name);
  }
  return map;
}

void ObjectReader::document(std::string_view name, std::int64_t schema) {
  if (!has("document")) {
    throw Error(fmt::format("key \"document\" is missing; a {} starts with it", name), where_,
                fmt::format("is this a Trainyard {}?", name));
  }
  if (const std::string found = text("document"); found != name) {
    fail("document", fmt::format("this is \"{}\", not \"{}\"", found, name));
  }
  if (const std::int64_t found = integer("schema"); found != schema) {
    fail("schema", fmt::format("schema {} of a {}; this version reads schema {}", found, name, schema),
         "use the version of Trainyard that wrote it");
  }
}

void ObjectReader::finish() const {
  for (const auto& [name, value] : node_->items()) {
    if (std::ranges::find(*asked_, name) != asked_->end()) {
      continue;
    }
    const std::optional<std::string> nearest = nearest_name(name, *asked_);
    fail(name, fmt::format("unknown key \"{}\"", name),
         nearest ? fmt::format("did you mean \"{}\"?", *nearest) : fmt::format("known: {}", fmt::join(*asked_, ", ")));
  }
}

}  // namespace trainyard
