#include "gui/paint/label_places.h"

#include <algorithm>

namespace trainyard::gui {

void LabelPlaces::take(const QRectF& area) {
  if (area.intersects(inside_)) {
    taken_.push_back(area);
  }
}

bool LabelPlaces::is_free(const QRectF& area) const {
  return inside_.contains(area) &&
         std::none_of(taken_.begin(), taken_.end(), [&](const QRectF& other) { return other.intersects(area); });
}

std::optional<QRectF> LabelPlaces::place(std::initializer_list<QRectF> places) {
  const auto found = std::find_if(places.begin(), places.end(), [&](const QRectF& area) { return is_free(area); });
  if (found == places.end()) {
    return std::nullopt;
  }
  taken_.push_back(*found);
  return *found;
}

}  // namespace trainyard::gui
