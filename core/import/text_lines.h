// Text as numbered lines, and the words and numbers in them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace trainyard {

// Throws Error for bytes that aren't UTF-8, with their line, and for a text with zero bytes: a binary file.
void require_text(std::string_view text, const std::string& where);

// Walks the lines of a text; a line's \r is cut off. The text must outlive the walk.
class TextLines {
 public:
  explicit TextLines(std::string_view text) : rest_(text) {}
  bool next(std::string_view& line);
  std::size_t number() const { return number_; }  // of the line given last, from 1

 private:
  std::string_view rest_;
  std::size_t number_ = 0;
};

std::string at_line(const std::string& where, std::size_t number);  // "fabric.txt: line 7"
std::size_t line_of_offset(std::string_view text, std::size_t offset);

std::string_view trimmed(std::string_view text);
std::vector<std::string_view> words(std::string_view text);                      // between spaces and tabs
bool starts_with_word(std::string_view text, std::string_view lower_case_word);  // whatever the text's case

// What a message quotes of a file: at most 60 characters, control characters and broken bytes as '?'.
std::string quote(std::string_view text);

// The whole text as a number in [lowest, highest]; nothing else around it.
std::optional<std::int64_t> whole_number(std::string_view text, std::int64_t lowest, std::int64_t highest);
std::optional<double> finite_number(std::string_view text);
// The number a text starts with, and what follows it: "32.0 GT/s" -> 32.0, " GT/s".
std::optional<double> leading_number(std::string_view text, std::string_view& rest);

// "gpu2" before "gpu10": runs of digits compare as numbers.
bool natural_less(std::string_view a, std::string_view b);

}  // namespace trainyard
