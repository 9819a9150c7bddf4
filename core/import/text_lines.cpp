#include "core/import/text_lines.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "core/document/text_match.h"
#include "core/error.h"

namespace trainyard {

namespace {

constexpr std::size_t kQuotedCharacters = 60;

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n' || c == '\f' || c == '\v'; }

// Cuts the run of digits at the front off, without leading zeros.
std::string_view take_digits(std::string_view& text) {
  std::size_t length = 0;
  while (length < text.size() && is_digit(text[length])) {
    ++length;
  }
  std::string_view digits = text.substr(0, length);
  text.remove_prefix(length);
  digits.remove_prefix(std::min(digits.find_first_not_of('0'), digits.size()));
  return digits;
}

// Bytes of the UTF-8 sequence at the front; 0 if there is none (RFC 3629).
std::size_t utf8_length(std::string_view text) {
  const auto byte = [text](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(0);
  if (first < 0x80) {
    return 1;
  }
  const std::size_t length = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  if (first < 0xC2 || first > 0xF4 || text.size() < length) {
    return 0;
  }
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0U) != 0x80) {
      return 0;
    }
  }
  const unsigned char second = byte(1);
  const bool overlong = (first == 0xE0 && second < 0xA0) || (first == 0xF0 && second < 0x90);
  const bool outside = (first == 0xED && second > 0x9F) || (first == 0xF4 && second > 0x8F);
  return overlong || outside ? 0 : length;
}

}  // namespace

void require_text(std::string_view text, const std::string& where) {
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t length = text[i] == '\0' ? 0 : utf8_length(text.substr(i));
    if (length == 0) {
      throw Error(text[i] == '\0' ? "holds zero bytes: a binary file?" : "bytes that aren't UTF-8",
                  at_line(where, line_of_offset(text, i)), "a topology file is text in UTF-8");
    }
    i += length;
  }
}

bool TextLines::next(std::string_view& line) {
  if (rest_.empty()) {
    return false;
  }
  const std::size_t end = rest_.find('\n');
  line = rest_.substr(0, end);
  rest_.remove_prefix(end == std::string_view::npos ? rest_.size() : end + 1);
  if (!line.empty() && line.back() == '\r') {
    line.remove_suffix(1);
  }
  ++number_;
  return true;
}

std::string at_line(const std::string& where, std::size_t number) { return where + ": line " + std::to_string(number); }

std::size_t line_of_offset(std::string_view text, std::size_t offset) {
  const std::string_view before = text.substr(0, offset);
  return 1 + static_cast<std::size_t>(std::count(before.begin(), before.end(), '\n'));
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && is_blank(text.front())) {
    text.remove_prefix(1);
  }
  while (!text.empty() && is_blank(text.back())) {
    text.remove_suffix(1);
  }
  return text;
}

std::vector<std::string_view> words(std::string_view text) {
  std::vector<std::string_view> found;
  std::size_t begin = 0;
  while (begin < text.size()) {
    if (is_blank(text[begin])) {
      ++begin;
      continue;
    }
    std::size_t end = begin;
    while (end < text.size() && !is_blank(text[end])) {
      ++end;
    }
    found.push_back(text.substr(begin, end - begin));
    begin = end;
  }
  return found;
}

bool starts_with_word(std::string_view text, std::string_view lower_case_word) {
  return lower_case(text.substr(0, lower_case_word.size())) == lower_case_word;
}

std::string quote(std::string_view text) {
  std::string shown(text.substr(0, kQuotedCharacters));
  for (char& c : shown) {
    if (c < ' ' || c > '~') {
      c = '?';
    }
  }
  return '"' + shown + (text.size() > kQuotedCharacters ? "...\"" : "\"");
}

std::optional<std::int64_t> whole_number(std::string_view text, std::int64_t lowest, std::int64_t highest) {
  std::int64_t value = 0;
  const char* begin = text.data();
  const char* end = begin + text.size();
  const auto parsed = std::from_chars(begin, end, value);
  if (parsed.ec != std::errc() || parsed.ptr != end || value < lowest || value > highest) {
    return std::nullopt;
  }
  return value;
}

std::optional<double> leading_number(std::string_view text, std::string_view& rest) {
  double value = 0.0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), value);
  if (parsed.ec != std::errc() || !std::isfinite(value)) {
    return std::nullopt;
  }
  rest = text.substr(static_cast<std::size_t>(parsed.ptr - text.data()));
  return value;
}

std::optional<double> finite_number(std::string_view text) {
  std::string_view rest;
  const std::optional<double> value = leading_number(text, rest);
  return rest.empty() ? value : std::nullopt;
}

bool natural_less(std::string_view a, std::string_view b) {
  const std::string_view whole_a = a;
  const std::string_view whole_b = b;
  while (!a.empty() && !b.empty()) {
    if (is_digit(a.front()) && is_digit(b.front())) {
      const std::string_view digits_a = take_digits(a);
      const std::string_view digits_b = take_digits(b);
      if (digits_a.size() != digits_b.size()) {
        return digits_a.size() < digits_b.size();
      }
      if (digits_a != digits_b) {
        return digits_a < digits_b;
      }
    } else if (a.front() != b.front()) {
      return a.front() < b.front();
    } else {
      a.remove_prefix(1);
      b.remove_prefix(1);
    }
  }
  if (a.empty() != b.empty()) {
    return a.empty();
  }
  return whole_a < whole_b;
}

}  // namespace trainyard
