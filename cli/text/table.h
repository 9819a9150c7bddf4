// Table: columns of text, aligned, two spaces apart, for terminals of 80 to 120 columns.
//
//   kernel        predicted   measured   ratio
//   forward         12.1 ms    12.4 ms    1.02
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "cli/text/style.h"

namespace trainyard::cli {

enum class Align : std::uint8_t { kLeft, kRight };

class Table {
 public:
  explicit Table(std::vector<std::string> headings, std::vector<Align> alignment);
  // One cell a column; fewer leave the rest empty.
  void add_row(std::vector<std::string> cells);
  // A line between what was added and what follows: totals.
  void add_rule();
  bool empty() const { return rows_.empty(); }
  // Each line ends in a newline; headings are bold where the style has it. `indent` spaces before each line.
  std::string text(const Style& style, int indent = 0) const;

 private:
  std::vector<int> widths() const;
  std::string line(const std::vector<std::string>& cells, const std::vector<int>& widths) const;
  std::vector<std::string> headings_;
  std::vector<Align> alignment_;
  std::vector<std::vector<std::string>> rows_;  // an empty row is a rule
};

// Columns that the text takes on a terminal: code points, since we print no wide or combining ones.
int display_width(std::string_view utf8);

// Words of `text` in lines of at most `columns`, each indented by `indent` spaces but the first.
std::string wrap(std::string_view text, int columns, int indent);

}  // namespace trainyard::cli
