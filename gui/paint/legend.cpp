#include "gui/paint/legend.h"

#include <QFontMetricsF>
#include <QPainter>
#include <functional>

#include "gui/paint/hatch.h"

namespace trainyard::gui {

namespace {

constexpr double kSwatch = 18.0;
constexpr double kGap = 6.0;
constexpr double kBetween = 16.0;
constexpr double kLeading = 4.0;

// Calls place(entry, left, row); the number of rows.
int lay_out(const QFontMetricsF& metrics, const std::vector<LegendEntry>& entries, double width,
            const std::function<void(const LegendEntry&, double, int)>& place) {
  double left = 0.0;
  int row = 0;
  for (const LegendEntry& entry : entries) {
    const double needs = kSwatch + kGap + metrics.horizontalAdvance(entry.name);
    if (left > 0.0 && left + needs > width) {
      left = 0.0;
      ++row;
    }
    place(entry, left, row);
    left += needs + kBetween;
  }
  return entries.empty() ? 0 : row + 1;
}

void draw_mark(QPainter& painter, const QRectF& area, const LegendEntry& entry) {
  switch (entry.mark) {
    case LegendMark::kFill:
      fill(painter, area, entry.category);
      return;
    case LegendMark::kPoint:
      painter.setPen(Qt::NoPen);
      painter.setBrush(entry.category.colour);
      painter.drawEllipse(area.center(), area.height() / 3.0, area.height() / 3.0);
      return;
    case LegendMark::kLine:
    case LegendMark::kDashes:
      painter.setPen(QPen(entry.category.colour, 2.0, entry.mark == LegendMark::kLine ? Qt::SolidLine : Qt::DashLine));
      painter.drawLine(QPointF(area.left(), area.center().y()), QPointF(area.right(), area.center().y()));
      return;
  }
}

}  // namespace

double legend_height(const QFontMetricsF& metrics, const std::vector<LegendEntry>& entries, double width) {
  const int rows = lay_out(metrics, entries, width, [](const LegendEntry&, double, int) {});
  return rows * (metrics.height() + kLeading);
}

void draw_legend(QPainter& painter, const QRectF& area, const Theme& theme, const std::vector<LegendEntry>& entries) {
  const QFontMetricsF metrics(painter.font());
  const double height = metrics.height() + kLeading;
  painter.save();
  lay_out(metrics, entries, area.width(), [&](const LegendEntry& entry, double left, int row) {
    const QRectF line(area.left() + left, area.top() + row * height, area.width() - left, height);
    const double inset = (height - metrics.ascent()) / 2.0;
    draw_mark(painter, QRectF(line.left(), line.top() + inset, kSwatch, height - 2.0 * inset), entry);
    painter.setPen(theme.text);
    const QRectF rest = line.adjusted(kSwatch + kGap, 0.0, 0.0, 0.0);
    painter.drawText(rest, Qt::AlignLeft | Qt::AlignVCenter,
                     metrics.elidedText(entry.name, Qt::ElideRight, rest.width()));
  });
  painter.restore();
}

}  // namespace trainyard::gui
