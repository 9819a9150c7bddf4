// The header of a safetensors file: which tensors it holds, and where.
//
//   8 bytes  N, little-endian
//   N bytes  JSON {"name": {"dtype": "F32", "shape": [..], "data_offsets": [begin, end]}, ...}
//   data     row-major, little-endian, tensors back to back without holes
//
// Source: the format's description at https://github.com/huggingface/safetensors.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace trainyard::executor {

struct StoredTensor {
  std::string name;
  std::string type;  // "F32", "BF16", ...
  std::vector<std::int64_t> shape;
  std::int64_t begin = 0;  // into the data
  std::int64_t end = 0;
};

// Bytes of one element; nothing for a type the format doesn't know.
std::optional<std::int64_t> stored_element_size(std::string_view type);

constexpr std::int64_t kSafetensorsPrefix = 8;
constexpr std::int64_t kSafetensorsHeaderLimit = 100'000'000;

// `json`: the N bytes; data_bytes: what follows them. In the order of their data. Throws Error naming
// `where` for malformed JSON, duplicate or missing keys, negative or overflowing sizes, unknown types, ranges
// that don't fit their shape, overlap, leave holes or leave the file.
std::vector<StoredTensor> parse_safetensors_header(std::string_view json, std::int64_t data_bytes,
                                                   const std::string& where);

// What the header says beside the tensors, under "__metadata__"; empty where it says nothing.
using SafetensorsMetadata = std::map<std::string, std::string>;
SafetensorsMetadata parse_safetensors_metadata(std::string_view json, const std::string& where);

// Prefix and JSON, padded with blanks so that the data is aligned to 8 bytes.
std::string safetensors_header(const std::vector<StoredTensor>& tensors, const SafetensorsMetadata& metadata = {});

}  // namespace trainyard::executor
