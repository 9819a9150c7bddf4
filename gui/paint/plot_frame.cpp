#include "gui/paint/plot_frame.h"

#include <QFontMetricsF>
#include <QPainter>
#include <algorithm>

namespace trainyard::gui {

namespace {

constexpr double kMargin = 10.0;
constexpr double kTickGap = 5.0;
constexpr double kLabelSpace = 28.0;  // between two labels of the x axis, beside their widths

int most_x_ticks(const QFontMetricsF& metrics, double width) {
  return std::clamp(static_cast<int>(width / (metrics.horizontalAdvance(QStringLiteral("000 min")) + kLabelSpace)), 2,
                    14);
}

double widest_label(const QFontMetricsF& metrics, const std::vector<Tick>& ticks) {
  double widest = 0.0;
  for (const Tick& tick : ticks) {
    widest = std::max(widest, metrics.horizontalAdvance(tick.label));
  }
  return widest;
}

void draw_x_ticks(QPainter& painter, const PlotFrame& frame, const Theme& theme, const std::vector<Tick>& ticks) {
  const QFontMetricsF metrics(painter.font());
  for (const Tick& tick : ticks) {
    const double x = frame.plot.left() + frame.x.share(tick.value) * frame.plot.width();
    painter.setPen(QPen(theme.grid, 1.0));
    painter.drawLine(QPointF(x, frame.plot.top()), QPointF(x, frame.plot.bottom()));
    painter.setPen(theme.muted);
    const double width = metrics.horizontalAdvance(tick.label) + 2.0;
    painter.drawText(QRectF(x - width / 2.0, frame.plot.bottom() + kTickGap, width, metrics.height()), Qt::AlignCenter,
                     tick.label);
  }
}

void draw_y_ticks(QPainter& painter, const PlotFrame& frame, const Theme& theme, const std::vector<Tick>& ticks) {
  const QFontMetricsF metrics(painter.font());
  for (const Tick& tick : ticks) {
    const double y = frame.plot.bottom() - frame.y.share(tick.value) * frame.plot.height();
    painter.setPen(QPen(theme.grid, 1.0));
    painter.drawLine(QPointF(frame.plot.left(), y), QPointF(frame.plot.right(), y));
    painter.setPen(theme.muted);
    const double width = metrics.horizontalAdvance(tick.label) + 2.0;
    painter.drawText(QRectF(frame.plot.left() - kTickGap - width, y - metrics.height() / 2.0, width, metrics.height()),
                     Qt::AlignRight | Qt::AlignVCenter, tick.label);
  }
}

}  // namespace

QRectF draw_title(QPainter& painter, const QRectF& area, const Theme& theme, const QString& title) {
  if (title.isEmpty()) {
    return area;
  }
  painter.save();
  QFont bold = painter.font();
  bold.setBold(true);
  painter.setFont(bold);
  painter.setPen(theme.text);
  const QFontMetricsF metrics(bold);
  const QRectF line(area.left() + kMargin, area.top() + kMargin / 2.0, area.width() - 2.0 * kMargin, metrics.height());
  painter.drawText(line, Qt::AlignLeft | Qt::AlignVCenter, metrics.elidedText(title, Qt::ElideRight, line.width()));
  painter.restore();
  return area.adjusted(0.0, metrics.height() + kMargin, 0.0, 0.0);
}

PlotFrame draw_plot_frame(QPainter& painter, const QRectF& area, const Theme& theme, const QString& title,
                          const Axis& x, const Axis& y) {
  painter.save();
  const QRectF inner = draw_title(painter, area, theme, title);
  const QFontMetricsF metrics(painter.font());
  const double line = metrics.height();
  const double above = y.title.isEmpty() ? kMargin : line + kMargin;
  const double below = line + kTickGap + kMargin + (x.title.isEmpty() ? 0.0 : line);
  const double room = std::max(20.0, inner.height() - above - below);
  const std::vector<Tick> y_ticks = y.ticks(std::clamp(static_cast<int>(room / (2.2 * line)), 2, 10));
  const double after = std::max(2.5 * kMargin, 0.5 * metrics.horizontalAdvance(QStringLiteral("0000 min")) + 2.0);
  const double before = widest_label(metrics, y_ticks) + kTickGap + kMargin;
  PlotFrame frame{
      x, y, QRectF(inner.left() + before, inner.top() + above, std::max(20.0, inner.width() - before - after), room)};
  draw_y_ticks(painter, frame, theme, y_ticks);
  draw_x_ticks(painter, frame, theme, x.ticks(most_x_ticks(metrics, frame.plot.width())));
  painter.setPen(QPen(theme.axis, 1.0));
  painter.drawLine(frame.plot.bottomLeft(), frame.plot.bottomRight());
  painter.drawLine(frame.plot.bottomLeft(), frame.plot.topLeft());
  painter.setPen(theme.text);
  painter.drawText(QRectF(inner.left() + kMargin, inner.top(), inner.width() - 2.0 * kMargin, line),
                   Qt::AlignLeft | Qt::AlignVCenter, y.title);
  painter.drawText(QRectF(frame.plot.left(), frame.plot.bottom() + kTickGap + line, frame.plot.width(), line),
                   Qt::AlignRight | Qt::AlignVCenter, x.title);
  painter.restore();
  return frame;
}

}  // namespace trainyard::gui
