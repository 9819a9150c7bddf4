// ObjectReader: typed values out of one JSON object, with an Error that names file and JSON pointer for
// whatever is not as asked.
//
//   ObjectReader root = read_json_object(file);
//   root.document("plan", 1);
//   ObjectReader model = root.object("model");
//   spec.layers = model.integer("layers", 1, 1000);
//   bucket = layout.optional_byte_count("bucket").value_or(bucket);
//   model.finish();   // after the last key: what was not asked for is unknown
//
// Optional getters give nothing for a key that is absent or null. Copies share the document and the list of
// keys asked for, so a reader may outlive the one it came from.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <limits>
#include <map>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/units/parse_quantity.h"

namespace trainyard {

class ObjectReader {
 public:
  static constexpr std::int64_t kLargest = std::numeric_limits<std::int64_t>::max();
  static constexpr double kInfinity = std::numeric_limits<double>::infinity();

  // `node` is an object inside what `root` keeps alive.
  ObjectReader(std::shared_ptr<const nlohmann::json> root, const nlohmann::json* node, std::string where);

  // "plan.json#/layout", "plan.json#/layout/tensor"; for Errors of the caller's own.
  std::string where() const;
  std::string where(std::string_view key) const;
  [[noreturn]] void fail(std::string_view key, const std::string& what, const std::string& hint = {}) const;

  bool has(std::string_view key);      // present and not null; counts as asked for
  bool is_null(std::string_view key);  // present and null, where that says something else than absent
  void ignore(std::string_view key);   // accepted, whatever it holds

  // Whole numbers in [lowest, highest]; "3.0" and "3e2" aren't whole numbers.
  std::int64_t integer(std::string_view key, std::int64_t lowest = 0, std::int64_t highest = kLargest);
  std::optional<std::int64_t> optional_integer(std::string_view key, std::int64_t lowest = 0,
                                               std::int64_t highest = kLargest);
  int small_integer(std::string_view key, int lowest = 0, int highest = std::numeric_limits<int>::max());
  std::optional<int> optional_small_integer(std::string_view key, int lowest = 0,
                                            int highest = std::numeric_limits<int>::max());
  std::uint64_t seed(std::string_view key);  // any unsigned 64-bit number

  double number(std::string_view key, double lowest = -kInfinity, double highest = kInfinity);
  std::optional<double> optional_number(std::string_view key, double lowest = -kInfinity, double highest = kInfinity);
  // JSON has no NaN or infinity: a key that must be there, null standing for a number that isn't finite.
  double number_or_nan(std::string_view key);

  bool boolean(std::string_view key);
  std::optional<bool> optional_boolean(std::string_view key);
  std::string text(std::string_view key);
  std::optional<std::string> optional_text(std::string_view key);

  // One of these values of an enumeration, by its to_string().
  template <class E>
  E one_of(std::string_view key, std::initializer_list<E> values);
  template <class E>
  std::optional<E> optional_one_of(std::string_view key, std::initializer_list<E> values);

  // Text with a unit, such as "400 Gbit/s".
  template <class Q>
  Q quantity(std::string_view key);
  template <class Q>
  std::optional<Q> optional_quantity(std::string_view key);
  ByteCount byte_count(std::string_view key);
  std::optional<ByteCount> optional_byte_count(std::string_view key);
  // A number whose key carries the SI unit, such as "step_time_s".
  template <class Q>
  Q si(std::string_view key);

  ObjectReader object(std::string_view key);
  std::optional<ObjectReader> optional_object(std::string_view key);
  std::size_t array_size(std::string_view key);
  std::vector<double> numbers(std::string_view key);
  std::vector<std::int64_t> integers(std::string_view key, std::int64_t lowest = 0, std::int64_t highest = kLargest);
  std::vector<std::string> texts(std::string_view key);
  std::vector<std::vector<double>> number_rows(std::string_view key);  // array of arrays of numbers
  // Reads each object of an array, then finishes it.
  void for_each_object(std::string_view key, const std::function<void(ObjectReader&)>& read);
  // An object that maps free names to text.
  std::map<std::string, std::string> text_map(std::string_view key);

  // Requires "document": name and "schema": number.
  void document(std::string_view name, std::int64_t schema);

  // Throws Error for a key that no getter asked for, with the nearest known one as hint.
  void finish() const;

 private:
  const nlohmann::json* find(std::string_view key);
  const nlohmann::json& require(std::string_view key);
  const nlohmann::json& require_array(std::string_view key);
  // Index into names; the value must be a string.
  std::size_t index_of_name(std::string_view key, std::span<const std::string_view> names);
  double quantity_si(std::string_view key, Dimension dimension);

  std::shared_ptr<const nlohmann::json> root_;
  const nlohmann::json* node_;
  std::string where_;
  std::shared_ptr<std::vector<std::string>> asked_;
};

template <class E>
E ObjectReader::one_of(std::string_view key, std::initializer_list<E> values) {
  std::vector<std::string_view> names;
  for (const E value : values) {
    names.push_back(to_string(value));
  }
  return values.begin()[index_of_name(key, names)];
}

template <class E>
std::optional<E> ObjectReader::optional_one_of(std::string_view key, std::initializer_list<E> values) {
  return has(key) ? std::optional<E>(one_of(key, values)) : std::nullopt;
}

template <class Q>
Q ObjectReader::quantity(std::string_view key) {
  return from_si<Q>(quantity_si(key, dimension_of(Q())));
}

template <class Q>
std::optional<Q> ObjectReader::optional_quantity(std::string_view key) {
  return has(key) ? std::optional<Q>(quantity<Q>(key)) : std::nullopt;
}

template <class Q>
Q ObjectReader::si(std::string_view key) {
  return from_si<Q>(number(key));
}

}  // namespace trainyard
