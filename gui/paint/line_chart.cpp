#include "gui/paint/line_chart.h"

#include <QFontMetricsF>
#include <QPainter>
#include <QPainterPath>
#include <algorithm>

#include "gui/paint/hatch.h"

namespace trainyard::gui {

namespace {

constexpr double kMargin = 10.0;
constexpr double kSpot = 7.0;   // around a point
constexpr double kFoot = 12.0;  // height of stretches
constexpr float kBandStrength = 0.22F;

QColor pale(QColor colour, float strength) {
  colour.setAlphaF(strength);
  return colour;
}

QString tip_of(const LinePlot& plot, const Line& line, const LinePoint& point) {
  QString text = line.name.isEmpty() ? QString() : line.name + QLatin1Char('\n');
  text += QStringLiteral("%1: %2\n%3: %4")
              .arg(plot.x.title, with_unit(point.x, plot.x.unit), plot.y.title, with_unit(point.y, plot.y.unit));
  if (point.low != point.high) {
    text += Chart::tr("\nrange: %1 to %2").arg(with_unit(point.low, plot.y.unit), with_unit(point.high, plot.y.unit));
  }
  return text;
}

}  // namespace

LineChart::LineChart(const QString& accessible_name, QWidget* parent) : Chart(accessible_name, parent) {}

void LineChart::set_plot(LinePlot plot) {
  plot_ = std::move(plot);
  update();
}

void LineChart::draw(QPainter& painter, const QRectF& area, const Theme& theme, Spots& spots) const {
  painter.save();
  QRectF inner = draw_title(painter, area, theme, plot_.title);
  const double legend = legend_height(QFontMetricsF(painter.font()), plot_.legend, inner.width() - 2.0 * kMargin);
  draw_legend(painter, inner.adjusted(kMargin, 0.0, -kMargin, 0.0), theme, plot_.legend);
  inner.setTop(inner.top() + legend);
  const PlotFrame frame = draw_plot_frame(painter, inner, theme, QString(), plot_.x, plot_.y);
  draw_shades(painter, frame, theme, spots);
  draw_stretches(painter, frame, spots);
  painter.setRenderHint(QPainter::Antialiasing);
  for (const Line& line : plot_.lines) {
    draw_line(painter, frame, theme, line, spots);
  }
  draw_marks(painter, frame, theme, spots);
  painter.restore();
}

void LineChart::draw_line(QPainter& painter, const PlotFrame& frame, const Theme& theme, const Line& line,
                          Spots& spots) const {
  if (line.points.empty()) {
    return;
  }
  QPainterPath path(frame.place(line.points.front().x, line.points.front().y));
  QPolygonF band;
  for (const LinePoint& point : line.points) {
    path.lineTo(frame.place(point.x, point.y));
    if (point.low != point.high) {
      band << frame.place(point.x, point.high);
    }
  }
  for (auto point = line.points.rbegin(); point != line.points.rend() && !band.isEmpty(); ++point) {
    if (point->low != point->high) {
      band << frame.place(point->x, point->low);
    }
  }
  painter.setPen(Qt::NoPen);
  painter.setBrush(pale(line.colour, kBandStrength));
  painter.drawPolygon(band);
  painter.setBrush(Qt::NoBrush);
  QPen pen(line.colour, 2.0, line.dashed ? Qt::DashLine : Qt::SolidLine);
  pen.setJoinStyle(Qt::RoundJoin);
  painter.setPen(pen);
  painter.drawPath(path);
  for (const LinePoint& point : line.points) {
    const QPointF at = frame.place(point.x, point.y);
    if (line.marked) {
      painter.setPen(QPen(theme.background, 1.0));
      painter.setBrush(line.colour);
      painter.drawEllipse(at, 3.5, 3.5);
    }
    if (line.points.size() < 400) {
      spots.push_back(
          {QRectF(at.x() - kSpot, at.y() - kSpot, 2.0 * kSpot, 2.0 * kSpot), tip_of(plot_, line, point), -1});
    }
  }
}

void LineChart::draw_marks(QPainter& painter, const PlotFrame& frame, const Theme& theme, Spots& spots) const {
  const QFontMetricsF metrics(painter.font());
  for (const LineMark& mark : plot_.marks) {
    const QPointF at = frame.place(mark.x, mark.y);
    painter.setPen(QPen(theme.selection, 1.5, Qt::DashLine));
    painter.drawLine(QPointF(at.x(), frame.plot.bottom()), QPointF(at.x(), frame.plot.top()));
    if (mark.low != mark.high) {
      const QPointF low = frame.place(mark.x, mark.low);
      const QPointF high = frame.place(mark.x, mark.high);
      painter.setPen(QPen(theme.plan_b, 2.5));
      painter.drawLine(low, high);
      painter.drawLine(low - QPointF(6.0, 0.0), low + QPointF(6.0, 0.0));
      painter.drawLine(high - QPointF(6.0, 0.0), high + QPointF(6.0, 0.0));
    }
    painter.setPen(QPen(theme.background, 1.0));
    painter.setBrush(theme.selection);
    painter.drawEllipse(at, 5.0, 5.0);
    const double width = metrics.horizontalAdvance(mark.name) + 8.0;
    const bool right = at.x() + width + 6.0 < frame.plot.right();
    const QRectF label(right ? at.x() + 6.0 : at.x() - 6.0 - width, frame.plot.bottom() - metrics.height() - 6.0, width,
                       metrics.height() + 2.0);
    painter.setPen(Qt::NoPen);
    painter.setBrush(pale(theme.background, 0.85F));
    painter.drawRect(label);
    painter.setPen(theme.selection);
    painter.drawText(label, Qt::AlignCenter, mark.name);
    spots.push_back({QRectF(at.x() - kSpot, at.y() - kSpot, 2.0 * kSpot, 2.0 * kSpot),
                     mark.tip.isEmpty() ? mark.name : mark.tip, -1});
  }
}

void LineChart::draw_stretches(QPainter& painter, const PlotFrame& frame, Spots& spots) const {
  painter.setRenderHint(QPainter::Antialiasing, false);
  for (const Stretch& stretch : plot_.stretches) {
    const double from = frame.place(stretch.from, frame.y.low).x();
    const double to = frame.place(stretch.to, frame.y.low).x();
    const QRectF box(from, frame.plot.bottom() - kFoot, std::max(1.0, to - from), kFoot);
    fill(painter, box, stretch.category);
    spots.push_back({box.adjusted(-1.0, 0.0, 1.0, 0.0), stretch.tip, -1});
  }
}

void LineChart::draw_shades(QPainter& painter, const PlotFrame& frame, const Theme& theme, Spots& spots) const {
  for (const Shade& shade : plot_.shades) {
    const double from = std::max(frame.plot.left(), frame.place(shade.from, frame.y.low).x());
    const double to = std::min(frame.plot.right(), frame.place(shade.to, frame.y.low).x());
    const QRectF box(from, frame.plot.top(), std::max(1.0, to - from), frame.plot.height());
    painter.fillRect(box, pale(theme.selection, 0.10F));
    spots.push_back({box, shade.name, -1});
  }
}

}  // namespace trainyard::gui
