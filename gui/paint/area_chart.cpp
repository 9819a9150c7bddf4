#include "gui/paint/area_chart.h"

#include <QFontMetricsF>
#include <QHelpEvent>
#include <QMouseEvent>
#include <QPainter>
#include <QToolTip>
#include <algorithm>
#include <cmath>
#include <numeric>

#include "gui/paint/hatch.h"

namespace trainyard::gui {

namespace {

constexpr double kMargin = 10.0;
constexpr double kDragged = 4.0;  // pixels that make a drag of a click

}  // namespace

double total(const AreaMoment& moment) { return std::accumulate(moment.amounts.begin(), moment.amounts.end(), 0.0); }

const AreaMoment* moment_at(const std::vector<AreaMoment>& moments, double at) {
  const auto after =
      std::upper_bound(moments.begin(), moments.end(), at, [](double t, const AreaMoment& m) { return t < m.at; });
  return after == moments.begin() ? nullptr : &*(after - 1);
}

AreaChart::AreaChart(const QString& accessible_name, QWidget* parent) : Chart(accessible_name, parent) {}

void AreaChart::set_plot(AreaPlot plot) {
  plot_ = std::move(plot);
  update();
}

void AreaChart::set_span(std::optional<std::pair<double, double>> span) {
  span_ = span;
  update();
}

std::vector<const AreaMoment*> AreaChart::columns(const PlotFrame& frame) const {
  const int width = std::max(1, static_cast<int>(frame.plot.width()));
  std::vector<const AreaMoment*> most(static_cast<std::size_t>(width), nullptr);
  const AreaMoment* before = nullptr;
  auto next = plot_.moments.begin();
  for (int column = 0; column < width; ++column) {
    const double end = frame.x_at(frame.plot.left() + column + 1);
    const AreaMoment*& here = most[static_cast<std::size_t>(column)];
    here = before;
    for (; next != plot_.moments.end() && next->at < end; ++next) {
      if (here == nullptr || total(*next) > total(*here)) {
        here = &*next;
      }
      before = &*next;
    }
  }
  return most;
}

void AreaChart::draw_stack(QPainter& painter, const PlotFrame& frame,
                           const std::vector<const AreaMoment*>& shown) const {
  for (std::size_t begin = 0; begin < shown.size();) {
    std::size_t end = begin + 1;
    while (end < shown.size() && shown[end] == shown[begin]) {
      ++end;
    }
    const double left = frame.plot.left() + static_cast<double>(begin);
    const double width = static_cast<double>(end - begin);
    double sum = 0.0;
    for (std::size_t cause = 0; shown[begin] != nullptr && cause < plot_.causes.size(); ++cause) {
      const double bottom = frame.place(0.0, sum).y();
      sum += shown[begin]->amounts.at(cause);
      const double top = frame.place(0.0, sum).y();
      if (bottom > top) {
        fill(painter, QRectF(left, top, width, bottom - top), plot_.causes[cause].category);
      }
    }
    begin = end;
  }
}

void AreaChart::draw(QPainter& painter, const QRectF& area, const Theme& theme, Spots& spots) const {
  painter.save();
  QRectF inner = draw_title(painter, area, theme, plot_.title);
  const QFontMetricsF metrics(painter.font());
  const double legend = legend_height(metrics, plot_.causes, inner.width() - 2.0 * kMargin);
  draw_legend(painter, inner.adjusted(kMargin, 0.0, -kMargin, 0.0), theme, plot_.causes);
  inner.setTop(inner.top() + legend);
  const PlotFrame frame = draw_plot_frame(painter, inner, theme, QString(), plot_.x, plot_.y);
  frame_ = frame;
  draw_stack(painter, frame, columns(frame));
  if (plot_.limit) {
    const double y = frame.place(0.0, *plot_.limit).y();
    painter.setPen(QPen(theme.bad, 2.0, Qt::DashLine));
    painter.drawLine(QPointF(frame.plot.left(), y), QPointF(frame.plot.right(), y));
    painter.setPen(theme.bad);
    painter.drawText(QRectF(frame.plot.left(), y - metrics.height() - 2.0, frame.plot.width() - 4.0, metrics.height()),
                     Qt::AlignRight | Qt::AlignVCenter, plot_.limit_name);
  }
  if (span_) {
    QColor shade = theme.selection;
    shade.setAlphaF(0.2F);
    const double from = std::max(frame.plot.left(), frame.place(span_->first, 0.0).x());
    const double to = std::min(frame.plot.right(), frame.place(span_->second, 0.0).x());
    if (to > from) {
      painter.fillRect(QRectF(from, frame.plot.top(), to - from, frame.plot.height()), shade);
    }
  }
  const auto most = std::max_element(plot_.moments.begin(), plot_.moments.end(),
                                     [](const AreaMoment& a, const AreaMoment& b) { return total(a) < total(b); });
  const QPointF peak = frame.place(most->at, total(*most));
  painter.setRenderHint(QPainter::Antialiasing);
  painter.setPen(QPen(theme.background, 1.0));
  painter.setBrush(theme.text);
  painter.drawEllipse(peak, 4.0, 4.0);
  spots.push_back({QRectF(peak.x() - 7.0, peak.y() - 7.0, 14.0, 14.0), tip_at(most->at), -1});
  painter.restore();
}

QString AreaChart::tip_at(double at) const {
  const AreaMoment* moment = moment_at(plot_.moments, at);
  if (moment == nullptr) {
    return {};
  }
  const double sum = total(*moment);
  QString text = tr("at %1: %2").arg(with_unit(moment->at, plot_.x.unit), with_unit(sum, plot_.y.unit));
  if (plot_.limit) {
    text += tr(", %1 of the limit").arg(with_unit(sum / *plot_.limit, Unit::kShare));
  }
  for (std::size_t cause = plot_.causes.size(); cause-- > 0;) {
    if (moment->amounts[cause] > 0.0) {
      text += QStringLiteral("\n%1: %2 (%3)")
                  .arg(plot_.causes[cause].name, with_unit(moment->amounts[cause], plot_.y.unit),
                       with_unit(moment->amounts[cause] / sum, Unit::kShare));
    }
  }
  return text;
}

bool AreaChart::event(QEvent* event) {
  if (event->type() == QEvent::ToolTip && !is_empty()) {
    const auto* help = static_cast<QHelpEvent*>(event);
    if (frame_.plot.contains(help->pos())) {
      QToolTip::showText(help->globalPos(), tip_at(frame_.x_at(help->pos().x())), this,
                         QRect(help->pos() - QPoint(1, 1), QSize(3, 3)));
      return true;
    }
  }
  return Chart::event(event);
}

void AreaChart::mousePressEvent(QMouseEvent* event) {
  if (event->button() == Qt::LeftButton && !is_empty() && frame_.plot.contains(event->position())) {
    drag_ = event->position().x();
  }
}

void AreaChart::mouseMoveEvent(QMouseEvent* event) {
  if (drag_ && std::abs(event->position().x() - *drag_) > kDragged) {
    const double from = frame_.x_at(std::min(*drag_, event->position().x()));
    const double to = frame_.x_at(std::max(*drag_, event->position().x()));
    set_span(std::make_pair(std::max(from, frame_.x.low), std::min(to, frame_.x.high)));
  }
}

void AreaChart::mouseReleaseEvent(QMouseEvent* event) {
  if (!drag_) {
    return;
  }
  const bool dragged = std::abs(event->position().x() - *drag_) > kDragged;
  drag_.reset();
  if (dragged && span_) {
    Q_EMIT span_dragged(span_->first, span_->second);
  } else {
    set_span(std::nullopt);
    Q_EMIT span_cleared();
  }
}

}  // namespace trainyard::gui
