#include "gui/paint/plane_view.h"

#include <algorithm>

namespace trainyard::gui {

QPointF to_pixel(const PlaneView& view, QPointF point, QSizeF size) {
  return (point - view.centre) * view.scale + QPointF(size.width() / 2.0, size.height() / 2.0);
}

QPointF to_point(const PlaneView& view, QPointF pixel, QSizeF size) {
  return (pixel - QPointF(size.width() / 2.0, size.height() / 2.0)) / view.scale + view.centre;
}

QRectF to_pixels(const PlaneView& view, const QRectF& rect, QSizeF size) {
  return {to_pixel(view, rect.topLeft(), size), to_pixel(view, rect.bottomRight(), size)};
}

PlaneView zoomed(const PlaneView& view, QPointF pixel, double factor, QSizeF size, const QRectF& bounds) {
  const double farthest = std::min(0.5 * fitted(bounds, size).scale, kLargestScale);
  const double scale = std::clamp(view.scale * factor, farthest, kLargestScale);
  const QPointF under = to_point(view, pixel, size);
  PlaneView next = {view.centre, scale};
  next.centre += under - to_point(next, pixel, size);
  return panned(next, {}, bounds);
}

PlaneView panned(const PlaneView& view, QPointF pixels, const QRectF& bounds) {
  const QPointF centre = view.centre + pixels / view.scale;
  return {
      {std::clamp(centre.x(), bounds.left(), bounds.right()), std::clamp(centre.y(), bounds.top(), bounds.bottom())},
      view.scale};
}

PlaneView fitted(const QRectF& rect, QSizeF size) {
  if (rect.isEmpty() || size.isEmpty()) {
    return {rect.center(), 1.0};
  }
  const double scale = std::min(size.width() / rect.width(), size.height() / rect.height());
  return {rect.center(), std::min(scale, kLargestScale)};
}

}  // namespace trainyard::gui
