#include "core/document/nearest_name.h"

#include <algorithm>
#include <numeric>
#include <vector>

namespace trainyard {

int edit_distance(std::string_view a, std::string_view b) {
  std::vector<int> row(b.size() + 1);
  std::iota(row.begin(), row.end(), 0);
  for (std::size_t i = 0; i < a.size(); ++i) {
    int diagonal = row[0];
    row[0] = static_cast<int>(i) + 1;
    for (std::size_t j = 0; j < b.size(); ++j) {
      const int replaced = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, row[j] + 1, row[j + 1] + 1});
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
