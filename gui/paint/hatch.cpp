#include "gui/paint/hatch.h"

#include <QPainter>
#include <algorithm>
#include <cmath>

namespace trainyard::gui {

namespace {

void add_horizontal(std::vector<QLineF>& lines, const QRectF& area, double spacing) {
  for (double y = std::ceil(area.top() / spacing) * spacing; y < area.bottom(); y += spacing) {
    lines.emplace_back(area.left(), y, area.right(), y);
  }
}

void add_vertical(std::vector<QLineF>& lines, const QRectF& area, double spacing) {
  for (double x = std::ceil(area.left() / spacing) * spacing; x < area.right(); x += spacing) {
    lines.emplace_back(x, area.top(), x, area.bottom());
  }
}

// x - y = c, falling to the right on a screen, whose y goes down.
void add_falling(std::vector<QLineF>& lines, const QRectF& area, double spacing) {
  const double last = area.right() - area.top();
  for (double c = std::ceil((area.left() - area.bottom()) / spacing) * spacing; c < last; c += spacing) {
    const double from = std::max(area.left(), c + area.top());
    const double to = std::min(area.right(), c + area.bottom());
    if (to > from) {
      lines.emplace_back(from, from - c, to, to - c);
    }
  }
}

// x + y = c.
void add_rising(std::vector<QLineF>& lines, const QRectF& area, double spacing) {
  const double last = area.right() + area.bottom();
  for (double c = std::ceil((area.left() + area.top()) / spacing) * spacing; c < last; c += spacing) {
    const double from = std::max(area.left(), c - area.bottom());
    const double to = std::min(area.right(), c - area.top());
    if (to > from) {
      lines.emplace_back(from, c - from, to, c - to);
    }
  }
}

}  // namespace

std::vector<QLineF> hatch_lines(const QRectF& area, Hatch hatch, double spacing) {
  std::vector<QLineF> lines;
  if (area.isEmpty()) {
    return lines;
  }
  if (hatch == Hatch::kHorizontal || hatch == Hatch::kGrid) {
    add_horizontal(lines, area, spacing);
  }
  if (hatch == Hatch::kVertical || hatch == Hatch::kGrid) {
    add_vertical(lines, area, spacing);
  }
  if (hatch == Hatch::kRising || hatch == Hatch::kCrossed) {
    add_rising(lines, area, spacing);
  }
  if (hatch == Hatch::kFalling || hatch == Hatch::kCrossed) {
    add_falling(lines, area, spacing);
  }
  return lines;
}

std::vector<QRectF> mark_areas(const QRectF& cell, CellMark mark) {
  constexpr double kThird = 1.0 / 3.0;
  const double width = cell.width();
  const double height = cell.height();
  const double edge = std::max(1.0, std::floor(0.12 * std::min(width, height)));
  switch (mark) {
    case CellMark::kNone:
      return {};
    case CellMark::kDot:
      return {cell.adjusted(width * kThird, height * kThird, -width * kThird, -height * kThird)};
    case CellMark::kBar:
      return {cell.adjusted(width * kThird, edge, -width * kThird, -edge)};
    case CellMark::kFrame: {
      const QRectF in = cell.adjusted(edge, edge, -edge, -edge);
      return {QRectF(in.left(), in.top(), in.width(), edge), QRectF(in.left(), in.bottom() - edge, in.width(), edge),
              QRectF(in.left(), in.top(), edge, in.height()), QRectF(in.right() - edge, in.top(), edge, in.height())};
    }
  }
  return {};
}

void fill(QPainter& painter, const QRectF& area, const CellLook& look) {
  painter.fillRect(area, look.colour);
  for (const QRectF& part : mark_areas(area, look.mark)) {
    painter.fillRect(part, readable_on(look.colour));
  }
}

void fill(QPainter& painter, const QRectF& area, const Category& category) {
  painter.fillRect(area, category.colour);
  const std::vector<QLineF> lines = hatch_lines(area, category.hatch);
  if (lines.empty()) {
    return;
  }
  QColor ink = readable_on(category.colour);
  ink.setAlphaF(0.35F);
  painter.save();
  QPen pen(ink, 1.0);
  pen.setCosmetic(false);  // viewers of SVG ignore a width that doesn't scale
  painter.setPen(pen);
  painter.drawLines(lines.data(), static_cast<int>(lines.size()));
  painter.restore();
}

}  // namespace trainyard::gui
