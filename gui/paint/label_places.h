// LabelPlaces: where labels of a picture go so that they lie on nothing: the first of a label's places that is inside
// the picture and free, else nowhere. What is drawn is taken first; every placed label is taken too.
#pragma once

#include <QRectF>
#include <initializer_list>
#include <optional>
#include <vector>

namespace trainyard::gui {

class LabelPlaces {
 public:
  explicit LabelPlaces(const QRectF& inside) : inside_(inside) {}

  void take(const QRectF& area);  // touching is no overlap
  // The best place first.
  std::optional<QRectF> place(std::initializer_list<QRectF> places);
  bool is_free(const QRectF& area) const;

 private:
  QRectF inside_;
  std::vector<QRectF> taken_;
};

}  // namespace trainyard::gui
