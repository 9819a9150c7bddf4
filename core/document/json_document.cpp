#include "core/document/json_document.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>
#include <vector>

#include "core/document/json_pointer.h"
#include "core/error.h"

namespace trainyard {

namespace {

using nlohmann::json;

// Builds the document from the parser's events, which come without recursion: depth costs heap, not stack.
class DocumentBuilder : public nlohmann::json_sax<json> {
 public:
  DocumentBuilder(const std::string& text, const std::string& where) : text_(text), where_(where) {}
  json take() { return std::move(root_); }

  bool null() override { return add(nullptr); }
  bool boolean(bool value) override { return add(value); }
  bool number_integer(number_integer_t value) override { return add(value); }
  bool number_unsigned(number_unsigned_t value) override { return add(value); }
  bool number_float(number_float_t value, const string_t&) override { return add(value); }
  bool string(string_t& value) override { return add(std::move(value)); }
  bool binary(binary_t&) override { return false; }

  bool start_object(std::size_t) override { return open(json::object()); }
  bool start_array(std::size_t) override { return open(json::array()); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }

  bool key(string_t& name) override {
    Level& level = levels_.back();
    level.key = name;
    if (level.container->contains(name)) {
      throw Error("key \"" + name + "\" is given twice", pointer_here(), "keep one of the two");
    }
    return true;
  }

  bool parse_error(std::size_t position, const std::string&, const json::exception& error) override {
    check(position > 0, "the parser has read something when it fails");
    const std::string at = line_and_column(position);
    const std::string_view detail = error.what();
    if (detail.find("UTF-8") != std::string_view::npos) {
      throw Error("bytes that aren't UTF-8, at " + at, pointer_here(), "save the file as UTF-8");
    }
    if (position > text_.size()) {
      throw Error("the text ends in the middle, at " + at, pointer_here(), "was the file cut short?");
    }
    const std::string found = word_at(position);
    if (found == "NaN" || found == "Infinity") {
      throw Error("not a finite number, at " + at, pointer_here(), "JSON has no NaN and no Infinity");
    }
    if (detail.find("number overflow") != std::string_view::npos) {
      throw Error("number too large, at " + at, pointer_here(), "numbers go up to 1.8e308");
    }
    throw Error("not JSON: unexpected \"" + found + "\", at " + at, pointer_here());
  }

 private:
  struct Level {
    json* container;
    std::string key;  // of the member being read, in an object
  };

  json* place(json value) {
    if (levels_.empty()) {
      root_ = std::move(value);
      return &root_;
    }
    Level& level = levels_.back();
    if (level.container->is_array()) {
      return &level.container->emplace_back(std::move(value));
    }
    json& member = (*level.container)[level.key];
    member = std::move(value);
    return &member;
  }

  template <class T>
  bool add(T&& value) {
    place(json(std::forward<T>(value)));
    return true;
  }

  bool open(json empty) {
    if (std::ssize(levels_) >= kNestingLimit) {
      throw Error(fmt::format("nested deeper than {} levels", kNestingLimit), pointer_here());
    }
    levels_.push_back({place(std::move(empty)), {}});
    return true;
  }

  bool close() {
    levels_.pop_back();
    return true;
  }

  std::string pointer_here() const {
    std::string pointer = where_;
    for (const Level& level : levels_) {
      if (level.container->is_array()) {
        // The innermost array is at its next element; the outer ones already hold the one being read.
        const bool innermost = &level == &levels_.back();
        pointer = child_pointer(pointer, std::to_string(level.container->size() - (innermost ? 0 : 1)));
      } else if (!level.key.empty()) {
        pointer = child_pointer(pointer, level.key);
      }
    }
    return pointer;
  }

  // The offending character and, if it starts a word, the rest of the word.
  std::string word_at(std::size_t position) const {
    const std::size_t begin = position - 1;
    std::size_t end = begin + 1;
    while (end < text_.size() && std::isalnum(static_cast<unsigned char>(text_[end])) != 0) {
      ++end;
    }
    return text_.substr(begin, std::min<std::size_t>(end - begin, 20));
  }

  std::string line_and_column(std::size_t position) const {
    const std::string_view before = std::string_view(text_).substr(0, position - 1);
    const auto line = 1 + std::ranges::count(before, '\n');
    const std::size_t newline = before.rfind('\n');
    const std::size_t column = 1 + (newline == std::string_view::npos ? before.size() : before.size() - newline - 1);
    return fmt::format("line {}, column {}", line, column);
  }

  const std::string& text_;
  const std::string& where_;
  json root_;
  std::vector<Level> levels_;
};

}  // namespace

json parse_json(const std::string& text, const std::string& where) {
  DocumentBuilder builder(text, where);
  const bool parsed = json::sax_parse(text, &builder);
  check(parsed, "the builder throws instead of stopping the parser");
  return builder.take();
}

ObjectReader parse_json_object(const std::string& text, const std::string& where) {
  const auto root = std::make_shared<const json>(parse_json(text, where));
  if (!root->is_object()) {
    throw Error(std::string("holds ") + json_type_name(*root) + ", not an object", where,
                "start with { and end with }");
  }
  return ObjectReader(root, root.get(), where);
}

ObjectReader read_json_object(const std::filesystem::path& file, ByteCount limit) {
  return parse_json_object(read_text_file(file, limit), file.string());
}

}  // namespace trainyard
