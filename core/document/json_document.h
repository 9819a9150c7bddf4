// Strict JSON: one parsed text, from which ObjectReader takes typed values.
//
// Strict means that each of these is an Error with file, JSON pointer and, for broken text, line and
// column: text cut short or malformed, bytes that aren't UTF-8, a key given twice, NaN, Infinity or a number
// too large for a double, nesting deeper than 100, a file above the limit. Objects are read by ObjectReader,
// which also rejects wrong types, bare numbers in place of quantities, and keys nobody asked for.
//
// Source: RFC 8259 (JSON), RFC 6901 (JSON pointer, shown as file#/pointer).
#pragma once

#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "core/document/object_reader.h"
#include "core/document/read_file.h"

namespace trainyard {

constexpr int kNestingLimit = 100;

// Any top-level value, as nlohmann's, for files of others that ObjectReader's strictness doesn't fit.
nlohmann::json parse_json(const std::string& text, const std::string& where);

// The top-level object of a text; any other top-level value is an Error. `where` names the text.
ObjectReader parse_json_object(const std::string& text, const std::string& where);
ObjectReader read_json_object(const std::filesystem::path& file, ByteCount limit = kFileLimit);

}  // namespace trainyard
