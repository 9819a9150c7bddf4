#include "executor/checkpoint/safetensors_header.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "core/error.h"

namespace trainyard::executor {

namespace {

using nlohmann::json;

constexpr int kDepthLimit = 3;  // top level, tensor, shape
constexpr const char* kHint = "the file is damaged or is not safetensors; fetch or save it again";

[[noreturn]] void fail(const std::string& what, const std::string& where) { throw Error(what, where, kHint); }

// Malformed text, duplicate keys and needless nesting are refused while parsing.
json parse_strictly(std::string_view text, const std::string& where) {
  std::vector<std::set<std::string>> keys(1);
  const auto watch = [&](int depth, json::parse_event_t event, json& value) {
    if (depth > kDepthLimit) {
      fail("header is nested too deeply", where);
    }
    if (event == json::parse_event_t::object_start) {
      keys.emplace_back();
    } else if (event == json::parse_event_t::object_end) {
      keys.pop_back();
    } else if (event == json::parse_event_t::key && !keys.back().insert(value.get<std::string>()).second) {
      fail("'" + value.get<std::string>() + "' appears twice in the header", where);
    }
    return true;
  };
  try {
    return json::parse(text, watch);
  } catch (const json::exception& problem) {
    fail(std::string("header is not JSON: ") + problem.what(), where);
  }
}

std::int64_t whole_number(const json& value, const std::string& where) {
  if (!value.is_number_integer() ||
      (value.is_number_unsigned() ? value.get<std::uint64_t>() > INT64_MAX : value.get<std::int64_t>() < 0)) {
    fail("not a whole number of 0 or more: " + value.dump(), where);
  }
  return value.get<std::int64_t>();
}

const json& member(const json& object, const char* key, const std::string& where) {
  const auto found = object.find(key);
  if (found == object.end()) {
    fail(std::string("has no '") + key + "'", where);
  }
  return *found;
}

const json& array_member(const json& object, const char* key, const std::string& where) {
  const json& value = member(object, key, where);
  if (!value.is_array()) {
    fail(std::string("'") + key + "' is not an array", where);
  }
  return value;
}

std::int64_t bytes_of_shape(const StoredTensor& tensor, const std::string& where) {
  const auto element = stored_element_size(tensor.type);
  if (!element) {
    fail("unknown dtype '" + tensor.type + "'", where);
  }
  std::int64_t bytes = *element;
  for (const std::int64_t size : tensor.shape) {
    if (size != 0 && bytes > INT64_MAX / size) {
      fail("its shape overflows", where);
    }
    bytes *= size;
  }
  return bytes;
}

StoredTensor parse_tensor(const std::string& name, const json& entry, std::int64_t data_bytes,
                          const std::string& file) {
  const std::string where = file + ": tensor '" + name + "'";
  if (!entry.is_object()) {
    fail("is not an object", where);
  }
  StoredTensor tensor{.name = name};
  const json& type = member(entry, "dtype", where);
  tensor.type = type.is_string() ? type.get<std::string>() : type.dump();
  for (const json& size : array_member(entry, "shape", where)) {
    tensor.shape.push_back(whole_number(size, where));
  }
  const json& offsets = array_member(entry, "data_offsets", where);
  if (offsets.size() != 2) {
    fail("'data_offsets' is not a pair", where);
  }
  tensor.begin = whole_number(offsets[0], where);
  tensor.end = whole_number(offsets[1], where);
  if (tensor.begin > tensor.end || tensor.end > data_bytes) {
    fail("lies at bytes " + std::to_string(tensor.begin) + " to " + std::to_string(tensor.end) + " of " +
             std::to_string(data_bytes) + " bytes of data",
         where);
  }
  if (bytes_of_shape(tensor, where) != tensor.end - tensor.begin) {
    fail("its shape needs " + std::to_string(bytes_of_shape(tensor, where)) + " bytes, its data has " +
             std::to_string(tensor.end - tensor.begin),
         where);
  }
  return tensor;
}

void require_back_to_back(const std::vector<StoredTensor>& tensors, std::int64_t data_bytes, const std::string& where) {
  std::int64_t end = 0;
  for (const StoredTensor& tensor : tensors) {
    if (tensor.begin != end) {
      fail(std::string(tensor.begin < end ? "overlaps the tensor before it" : "leaves a hole before it"),
           where + ": tensor '" + tensor.name + "'");
    }
    end = tensor.end;
  }
  if (end != data_bytes) {
    fail(std::to_string(data_bytes - end) + " bytes follow the last tensor", where);
  }
}

}  // namespace

std::optional<std::int64_t> stored_element_size(std::string_view type) {
  static constexpr std::array<std::pair<std::string_view, std::int64_t>, 15> kSizes{{{"F64", 8},
                                                                                     {"F32", 4},
                                                                                     {"F16", 2},
                                                                                     {"BF16", 2},
                                                                                     {"F8_E4M3", 1},
                                                                                     {"F8_E5M2", 1},
                                                                                     {"I64", 8},
                                                                                     {"I32", 4},
                                                                                     {"I16", 2},
                                                                                     {"I8", 1},
                                                                                     {"U64", 8},
                                                                                     {"U32", 4},
                                                                                     {"U16", 2},
                                                                                     {"U8", 1},
                                                                                     {"BOOL", 1}}};
  for (const auto& [name, size] : kSizes) {
    if (name == type) {
      return size;
    }
  }
  return std::nullopt;
}

std::vector<StoredTensor> parse_safetensors_header(std::string_view json_text, std::int64_t data_bytes,
                                                   const std::string& where) {
  const json header = parse_strictly(json_text, where);
  if (!header.is_object()) {
    fail("header is not a JSON object", where);
  }
  std::vector<StoredTensor> tensors;
  for (const auto& [name, entry] : header.items()) {
    if (name != "__metadata__") {
      tensors.push_back(parse_tensor(name, entry, data_bytes, where));
    }
  }
  std::sort(tensors.begin(), tensors.end(), [](const StoredTensor& a, const StoredTensor& b) {
    return std::pair(a.begin, a.end) < std::pair(b.begin, b.end);
  });
  require_back_to_back(tensors, data_bytes, where);
  return tensors;
}

SafetensorsMetadata parse_safetensors_metadata(std::string_view json_text, const std::string& where) {
  const json header = parse_strictly(json_text, where);
  SafetensorsMetadata metadata;
  const auto found = header.find("__metadata__");
  if (found == header.end()) {
    return metadata;
  }
  for (const auto& [key, value] : found->items()) {
    if (!value.is_string()) {
      fail("metadata '" + key + "' is not text", where);
    }
    metadata[key] = value.get<std::string>();
  }
  return metadata;
}

std::string safetensors_header(const std::vector<StoredTensor>& tensors, const SafetensorsMetadata& metadata) {
  nlohmann::ordered_json header;
  header["__metadata__"] = {{"format", "pt"}};  // transformers refuses files without it
  for (const auto& [key, value] : metadata) {
    header["__metadata__"][key] = value;
  }
  for (const StoredTensor& tensor : tensors) {
    header[tensor.name] = {
        {"dtype", tensor.type}, {"shape", tensor.shape}, {"data_offsets", {tensor.begin, tensor.end}}};
  }
  std::string text = header.dump();
  text.resize((text.size() + 7) / 8 * 8, ' ');
  std::string bytes(static_cast<std::size_t>(kSafetensorsPrefix), '\0');
  for (unsigned i = 0; i < bytes.size(); ++i) {
    bytes[i] = static_cast<char>((text.size() >> (8 * i)) & 0xFFU);
  }
  return bytes + text;
}

}  // namespace trainyard::executor
