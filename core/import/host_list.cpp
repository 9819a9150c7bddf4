#include "core/import/host_list.h"

#include <algorithm>
#include <cstdint>

#include "core/error.h"
#include "core/import/text_lines.h"

namespace trainyard {

namespace {

constexpr std::size_t kMostBrackets = 4;
constexpr std::size_t kLongestName = 255;
constexpr std::int64_t kLargestNumber = 999'999'999'999;

// At the commas that are outside brackets.
std::vector<std::string_view> split_outside_brackets(std::string_view list, const std::string& where) {
  std::vector<std::string_view> parts;
  std::size_t begin = 0;
  bool inside = false;
  for (std::size_t i = 0; i <= list.size(); ++i) {
    if (i == list.size() || (list[i] == ',' && !inside)) {
      parts.push_back(trimmed(list.substr(begin, i - begin)));
      begin = i + 1;
    } else if (list[i] == '[' || list[i] == ']') {
      if (inside == (list[i] == '[')) {
        throw Error("brackets don't pair in " + quote(list), where);
      }
      inside = !inside;
    }
  }
  if (inside) {
    throw Error("a bracket isn't closed in " + quote(list), where);
  }
  return parts;
}

std::vector<std::string_view> split_at_commas(std::string_view text) {
  std::vector<std::string_view> parts;
  while (true) {
    const std::size_t comma = text.find(',');
    parts.push_back(trimmed(text.substr(0, comma)));
    if (comma == std::string_view::npos) {
      return parts;
    }
    text.remove_prefix(comma + 1);
  }
}

class Expansion {
 public:
  Expansion(const std::string& where, std::size_t limit) : where_(where), limit_(limit) {}

  void add(std::string_view item) {
    if (item.empty()) {
      throw Error("an empty name in a list of hosts or switches", where_);
    }
    std::vector<std::string> heads = {""};
    std::size_t brackets = 0;
    while (true) {
      const std::size_t open = item.find('[');
      for (std::string& head : heads) {
        head += item.substr(0, open);
        check_length(head);
      }
      if (open == std::string_view::npos) {
        break;
      }
      if (++brackets > kMostBrackets) {
        throw Error("more than " + std::to_string(kMostBrackets) + " brackets in " + quote(item), where_);
      }
      const std::size_t close = item.find(']', open);
      heads = multiplied(heads, numbers(item.substr(open + 1, close - open - 1)));
      item.remove_prefix(close + 1);
    }
    check_room(names_.size() + heads.size());
    names_.insert(names_.end(), heads.begin(), heads.end());
  }

  std::vector<std::string> take() { return std::move(names_); }

 private:
  void check_length(const std::string& name) const {
    if (name.size() > kLongestName) {
      throw Error("a name longer than " + std::to_string(kLongestName) + " characters: " + quote(name), where_);
    }
  }

  void check_room(std::size_t names) const {
    if (names > limit_) {
      throw Error("a list of more than " + std::to_string(limit_) + " names", where_);
    }
  }

  std::vector<std::string> multiplied(const std::vector<std::string>& heads,
                                      const std::vector<std::string>& tails) const {
    check_room(heads.size() * tails.size());
    std::vector<std::string> products;
    products.reserve(heads.size() * tails.size());
    for (const std::string& head : heads) {
      for (const std::string& tail : tails) {
        products.push_back(head + tail);
        check_length(products.back());
      }
    }
    return products;
  }

  // "1-3,07" -> 1, 2, 3, 07
  std::vector<std::string> numbers(std::string_view ranges) const {
    std::vector<std::string> found;
    for (const std::string_view range : split_at_commas(ranges)) {
      const std::size_t dash = range.find('-');
      const std::string_view first = range.substr(0, dash);
      const std::string_view last = dash == std::string_view::npos ? first : range.substr(dash + 1);
      const auto from = whole_number(first, 0, kLargestNumber);
      const auto to = whole_number(last, 0, kLargestNumber);
      if (!from || !to || *to < *from) {
        throw Error(quote(range) + " is not a range of numbers such as 01-16", where_);
      }
      check_room(found.size() + static_cast<std::size_t>(*to - *from) + 1);
      for (std::int64_t number = *from; number <= *to; ++number) {
        std::string digits = std::to_string(number);
        digits.insert(0, first.size() - std::min(first.size(), digits.size()), '0');
        found.push_back(std::move(digits));
      }
    }
    return found;
  }

  const std::string& where_;
  std::size_t limit_;
  std::vector<std::string> names_;
};

}  // namespace

std::vector<std::string> expand_host_list(std::string_view list, const std::string& where, std::size_t limit) {
  Expansion expansion(where, limit);
  for (const std::string_view item : split_outside_brackets(list, where)) {
    expansion.add(item);
  }
  return expansion.take();
}

}  // namespace trainyard
