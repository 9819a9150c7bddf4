#include "core/document/nearest_name.h"

#include <algorithm>
#include <numeric>
#include <vector>

namespace trainyard {

int edit_distance(std::string_view a, std::string_view b) {
  std::vector<int> before(b.size() + 1);  // the row of two letters of a ago, for swaps
  std::vector<int> above(b.size() + 1);
  std::vector<int> row(b.size() + 1);
  std::iota(row.begin(), row.end(), 0);
  for (std::size_t i = 0; i < a.size(); ++i) {
    before.swap(above);
    above.swap(row);
    row[0] = static_cast<int>(i) + 1;
    for (std::size_t j = 0; j < b.size(); ++j) {
      row[j + 1] = std::min({above[j] + (a[i] == b[j] ? 0 : 1), row[j] + 1, above[j + 1] + 1});
      if (i > 0 && j > 0 && a[i] == b[j - 1] && a[i - 1] == b[j]) {
        row[j + 1] = std::min(row[j + 1], before[j - 1] + 1);
      }
    }
  }
  return row.back();
}

std::optional<std::string> nearest_name(std::string_view mistyped, std::span<const std::string> names) {
  std::optional<std::string> nearest;
  int smallest = std::max(1, static_cast<int>(mistyped.size()) / 3) + 1;
  for (const std::string& name : names) {
    const int distance = edit_distance(mistyped, name);
    if (distance < smallest) {
      smallest = distance;
      nearest = name;
    }
  }
  return nearest;
}

}  // namespace trainyard
