#include "cli/text/table.h"

#include <algorithm>
#include <utility>

#include "core/error.h"

namespace trainyard::cli {

int display_width(std::string_view utf8) {
  return static_cast<int>(
      std::count_if(utf8.begin(), utf8.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xc0U) != 0x80U; }));
}

Table::Table(std::vector<std::string> headings, std::vector<Align> alignment)
    : headings_(std::move(headings)), alignment_(std::move(alignment)) {
  check(headings_.size() == alignment_.size(), "a table has an alignment for each column");
}

void Table::add_row(std::vector<std::string> cells) {
  check(!cells.empty() && cells.size() <= headings_.size(), "a row has a cell for some of the columns");
  cells.resize(headings_.size());
  rows_.push_back(std::move(cells));
}

void Table::add_rule() { rows_.emplace_back(); }

std::vector<int> Table::widths() const {
  std::vector<int> widths;
  for (std::size_t column = 0; column < headings_.size(); ++column) {
    int width = display_width(headings_[column]);
    for (const auto& row : rows_) {
      width = row.empty() ? width : std::max(width, display_width(row[column]));
    }
    widths.push_back(width);
  }
  return widths;
}

std::string Table::line(const std::vector<std::string>& cells, const std::vector<int>& widths) const {
  std::string text;
  for (std::size_t column = 0; column < cells.size(); ++column) {
    const auto padding = static_cast<std::size_t>(widths[column] - display_width(cells[column]));
    const bool right = alignment_[column] == Align::kRight;
    text.append(column == 0 ? 0 : 2, ' ');
    text.append(right ? padding : 0, ' ');
    text += cells[column];
    text.append(right ? 0 : padding, ' ');
  }
  text.erase(text.find_last_not_of(' ') + 1);
  return text;
}

std::string Table::text(const Style& style, int indent) const {
  const std::vector<int> columns = widths();
  const std::string margin(static_cast<std::size_t>(indent), ' ');
  std::size_t total = columns.empty() ? 0 : 2 * (columns.size() - 1);
  for (const int width : columns) {
    total += static_cast<std::size_t>(width);
  }
  std::string result = margin;
  result += style.bold(line(headings_, columns));
  result += '\n';
  for (const auto& row : rows_) {
    result += margin;
    result += row.empty() ? std::string(total, '-') : line(row, columns);
    result += '\n';
  }
  return result;
}

std::string wrap(std::string_view text, int columns, int indent) {
  std::string result;
  int used = indent;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(' '), text.size());
    const std::string_view word = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    const int width = display_width(word);
    if (!result.empty() && used + 1 + width > columns) {
      result += '\n';
      result.append(static_cast<std::size_t>(indent), ' ');
      used = indent;
    } else if (!result.empty()) {
      result += ' ';
      ++used;
    }
    result += word;
    used += width;
  }
  return result;
}

}  // namespace trainyard::cli
