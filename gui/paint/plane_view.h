// PlaneView: which part of a plane a picture shows: the point in its middle and pixels a unit.
//
//   pixel = (point - centre) * scale + size / 2
#pragma once

#include <QPointF>
#include <QRectF>
#include <QSizeF>

namespace trainyard::gui {

struct PlaneView {
  QPointF centre;
  double scale = 1.0;
  friend bool operator==(const PlaneView&, const PlaneView&) = default;
};

constexpr double kLargestScale = 400.0;  // pixels a GPU

QPointF to_pixel(const PlaneView& view, QPointF point, QSizeF size);
QPointF to_point(const PlaneView& view, QPointF pixel, QSizeF size);
QRectF to_pixels(const PlaneView& view, const QRectF& rect, QSizeF size);

// factor > 1 comes closer; what lies under `pixel` stays there. Between all of `bounds` and one GPU.
PlaneView zoomed(const PlaneView& view, QPointF pixel, double factor, QSizeF size, const QRectF& bounds);
// By pixels; the middle stays within `bounds`.
PlaneView panned(const PlaneView& view, QPointF pixels, const QRectF& bounds);
PlaneView fitted(const QRectF& rect, QSizeF size);

// How much of a GPU is seen at so many pixels a GPU.
enum class PlaneDetail { kTile, kBlocks, kGpus, kLabels };
constexpr PlaneDetail detail_at(double scale) {
  return scale < 3.0    ? PlaneDetail::kTile     // one texel a GPU, the worst of several
         : scale < 9.0  ? PlaneDetail::kBlocks   // hosts framed
         : scale < 40.0 ? PlaneDetail::kGpus     // single GPUs
                        : PlaneDetail::kLabels;  // with names and loads
}

}  // namespace trainyard::gui
