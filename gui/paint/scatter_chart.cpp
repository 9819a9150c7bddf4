#include "gui/paint/scatter_chart.h"

#include <QApplication>
#include <QFontMetricsF>
#include <QHelpEvent>
#include <QKeyEvent>
#include <QMouseEvent>
#include <QPainter>
#include <QToolTip>
#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

namespace trainyard::gui {

namespace {

constexpr double kReach = 8.0;  // of a click, pixels
constexpr double kDot = 5.0;    // diameter
constexpr std::size_t kShades = 24;
constexpr double kBetweenCorners = 4.0;  // of a lasso, pixels
constexpr std::size_t kMany = 2000;      // points that are drawn by hand

bool drawn(const ScatterPoint& point) { return std::isfinite(point.x) && std::isfinite(point.y); }

std::size_t shade_of(const ScatterPoint& point) {
  const double share = std::clamp(std::isfinite(point.shade) ? point.shade : 0.0, 0.0, 1.0);
  return std::min(kShades - 1, static_cast<std::size_t>(share * kShades));
}

}  // namespace

std::vector<int> pareto_front(const std::vector<ScatterPoint>& points, bool larger_x, bool larger_y) {
  std::vector<int> order;
  for (std::size_t i = 0; i < points.size(); ++i) {
    if (drawn(points[i]) && points[i].passes) {
      order.push_back(static_cast<int>(i));
    }
  }
  const auto at = [&](int i) -> const ScatterPoint& { return points[static_cast<std::size_t>(i)]; };
  const double sign_x = larger_x ? -1.0 : 1.0;
  const double sign_y = larger_y ? -1.0 : 1.0;
  std::sort(order.begin(), order.end(), [&](int i, int j) {
    return std::make_tuple(sign_x * at(i).x, sign_y * at(i).y, i) <
           std::make_tuple(sign_x * at(j).x, sign_y * at(j).y, j);
  });
  std::vector<int> front;
  double best = INFINITY;
  for (const int i : order) {
    if (sign_y * at(i).y < best) {
      best = sign_y * at(i).y;
      front.push_back(i);
    }
  }
  std::sort(front.begin(), front.end(), [&](int i, int j) { return at(i).x < at(j).x; });
  return front;
}

ScatterChart::ScatterChart(const QString& accessible_name, QWidget* parent) : Chart(accessible_name, parent) {}

void ScatterChart::set_plot(ScatterPlot plot) {
  plot_ = std::move(plot);
  image_ = QImage();
  update();
}

void ScatterChart::set_passes(const std::vector<char>& passes, bool larger_x, bool larger_y) {
  bool changed = false;
  for (std::size_t i = 0; i < plot_.points.size() && i < passes.size(); ++i) {
    changed = changed || plot_.points[i].passes != (passes[i] != 0);
    plot_.points[i].passes = passes[i] != 0;
  }
  if (changed) {
    plot_.front = pareto_front(plot_.points, larger_x, larger_y);
    image_ = QImage();
    update();
  }
}

void ScatterChart::set_selected(std::optional<int> point, std::optional<int> a, std::optional<int> b) {
  selected_ = point;
  a_ = a;
  b_ = b;
  update();
}

void ScatterChart::set_lasso(QPolygonF corners) {
  lasso_ = std::move(corners);
  update();
}

void ScatterChart::draw_points(QPainter& painter, const PlotFrame& frame, const Theme& theme) const {
  // By colour, the faint ones first, so that few pens are set and the strong lie on top.
  std::vector<QPointF> out;
  std::array<std::vector<QPointF>, kShades> by_shade;
  for (const ScatterPoint& point : plot_.points) {
    if (!drawn(point)) {
      continue;
    }
    const QPointF at = frame.place(point.x, point.y);
    (point.passes ? by_shade.at(shade_of(point)) : out).push_back(at);
  }
  const auto dots = [&](const std::vector<QPointF>& places, const QColor& colour, double size) {
    painter.setPen(QPen(colour, size, Qt::SolidLine, Qt::RoundCap));
    painter.drawPoints(places.data(), static_cast<int>(places.size()));
  };
  painter.setRenderHint(QPainter::Antialiasing, plot_.points.size() < kMany);
  dots(out, theme.missing, kDot * 0.7);
  for (std::size_t shade = 0; shade < kShades; ++shade) {
    const QColor colour = !plot_.shaded ? theme.colours[0] : theme.ramp((static_cast<double>(shade) + 0.5) / kShades);
    dots(by_shade.at(shade), colour, kDot);
  }
  draw_marked(painter, frame, theme);
}

void ScatterChart::draw_marked(QPainter& painter, const PlotFrame& frame, const Theme& theme) const {
  painter.setRenderHint(QPainter::Antialiasing);
  painter.setBrush(Qt::NoBrush);
  painter.setPen(QPen(theme.warning, 1.5));
  for (const ScatterPoint& point : plot_.points) {
    if (point.marked && drawn(point)) {
      painter.drawEllipse(frame.place(point.x, point.y), kDot, kDot);
    }
  }
}

// Thousands of points: pixels set by hand, some 30 times as quick as a painter's round pen.
void ScatterChart::stamp_points(QImage& image, const PlotFrame& frame, const Theme& theme) const {
  const double scale = image.devicePixelRatio();
  std::array<std::vector<QPointF>, kShades + 1> by_shade;  // those that don't pass first
  for (const ScatterPoint& point : plot_.points) {
    if (drawn(point)) {
      by_shade.at(point.passes ? 1 + shade_of(point) : 0).push_back(frame.place(point.x, point.y) * scale);
    }
  }
  const QRectF clip(frame.plot.topLeft() * scale, frame.plot.size() * scale);
  for (std::size_t shade = 0; shade < by_shade.size(); ++shade) {
    const double radius = (shade == 0 ? 0.35 : 0.5) * kDot * scale;
    const int reach = static_cast<int>(radius);
    const QColor colour = shade == 0      ? theme.missing
                          : !plot_.shaded ? theme.colours[0]
                                          : theme.ramp((static_cast<double>(shade) - 0.5) / kShades);
    for (const QPointF& at : by_shade.at(shade)) {
      if (!clip.contains(at)) {
        continue;
      }
      for (int dy = -reach; dy <= reach; ++dy) {
        const int half = static_cast<int>(std::sqrt(radius * radius - dy * dy));
        const int y = static_cast<int>(at.y()) + dy;
        const int left = std::max(0, static_cast<int>(at.x()) - half);
        const int right = std::min(image.width() - 1, static_cast<int>(at.x()) + half);
        if (y >= 0 && y < image.height() && right >= left) {
          auto* row = reinterpret_cast<QRgb*>(image.scanLine(y));
          std::fill(row + left, row + right + 1, colour.rgb());
        }
      }
    }
  }
}

void ScatterChart::draw_front(QPainter& painter, const PlotFrame& frame, const Theme& theme) const {
  QPolygonF line;
  for (const int i : plot_.front) {
    const ScatterPoint& point = plot_.points.at(static_cast<std::size_t>(i));
    line << frame.place(point.x, point.y);
  }
  painter.setRenderHint(QPainter::Antialiasing);
  painter.setBrush(Qt::NoBrush);
  painter.setPen(QPen(theme.text, 1.5, Qt::DashLine));
  painter.drawPolyline(line);
  painter.setPen(QPen(theme.text, 1.2));
  for (const QPointF& at : line) {
    painter.drawEllipse(at, kDot * 0.7, kDot * 0.7);
  }
}

void ScatterChart::draw_selected(QPainter& painter, const PlotFrame& frame, const Theme& theme) const {
  painter.setRenderHint(QPainter::Antialiasing);
  const auto ring = [&](std::optional<int> index, const QColor& colour, const QString& name) {
    if (!index || *index < 0 || *index >= static_cast<int>(plot_.points.size()) ||
        !drawn(plot_.points[static_cast<std::size_t>(*index)])) {
      return;
    }
    const ScatterPoint& point = plot_.points[static_cast<std::size_t>(*index)];
    const QPointF at = frame.place(point.x, point.y);
    painter.setBrush(Qt::NoBrush);
    painter.setPen(QPen(colour, 2.5));
    painter.drawEllipse(at, kDot * 1.4, kDot * 1.4);
    painter.drawText(at + QPointF(kDot * 1.6, -kDot), name);
  };
  ring(a_, theme.plan_a, QStringLiteral("A"));
  ring(b_, theme.plan_b, QStringLiteral("B"));
  ring(selected_, theme.selection, QString());
}

void ScatterChart::draw(QPainter& painter, const QRectF& area, const Theme& theme, Spots&) const {
  draw_plot(painter, area, theme, true);
  draw_lasso(painter, frame_, theme);
  draw_selected(painter, frame_, theme);
}

void ScatterChart::draw_plot(QPainter& painter, const QRectF& area, const Theme& theme, bool with_points) const {
  painter.save();
  frame_ = draw_plot_frame(painter, area, theme, plot_.title, plot_.x, plot_.y);
  painter.setClipRect(frame_.plot.adjusted(-kDot, -kDot, kDot, kDot));
  if (with_points) {
    draw_points(painter, frame_, theme);
    draw_front(painter, frame_, theme);
  }
  painter.restore();
}

void ScatterChart::paint_image(const Theme& theme) {
  const bool many = plot_.points.size() >= kMany;
  {
    QPainter painter(&image_);
    painter.setFont(font());
    painter.fillRect(rect(), theme.background);
    draw_plot(painter, rect(), theme, !many);
  }
  if (many) {
    stamp_points(image_, frame_, theme);
    QPainter painter(&image_);
    painter.setClipRect(frame_.plot.adjusted(-kDot, -kDot, kDot, kDot));
    draw_marked(painter, frame_, theme);
    draw_front(painter, frame_, theme);
  }
}

void ScatterChart::paintEvent(QPaintEvent* event) {
  if (is_empty()) {
    Chart::paintEvent(event);
    return;
  }
  const Theme theme = current(palette());
  QPainter painter(this);
  if (keeps_lines(painter)) {
    paint_all(painter, rect(), theme);
    return;
  }
  if (fit_layer(image_)) {
    paint_image(theme);
  }
  painter.drawImage(QPointF(), image_);
  draw_lasso(painter, frame_, theme);
  draw_selected(painter, frame_, theme);
  draw_brush(painter, theme);
}

void ScatterChart::draw_lasso(QPainter& painter, const PlotFrame& frame, const Theme& theme) const {
  QPolygonF shape;
  for (const QPointF& corner : lasso_) {
    shape << frame.place(corner.x(), corner.y());
  }
  painter.setRenderHint(QPainter::Antialiasing);
  painter.setPen(QPen(theme.selection, 1.5));
  painter.setBrush(Qt::NoBrush);
  painter.drawPolygon(shape);
}

void ScatterChart::draw_brush(QPainter& painter, const Theme& theme) const {
  if (drawn_.size() < 2) {
    return;
  }
  QColor shade = theme.selection;
  painter.setPen(QPen(shade, 1.5, Qt::DashLine));
  shade.setAlphaF(0.15F);
  painter.setBrush(shade);
  if (free_) {
    painter.drawPolygon(drawn_);
  } else {
    painter.drawRect(QRectF(drawn_.first(), drawn_.last()).normalized());
  }
}

std::optional<int> ScatterChart::point_at(const QPointF& place) const {
  std::optional<int> nearest;
  double least = kReach * kReach;
  for (std::size_t i = 0; i < plot_.points.size(); ++i) {
    if (!drawn(plot_.points[i])) {
      continue;
    }
    const QPointF by = frame_.place(plot_.points[i].x, plot_.points[i].y) - place;
    const double distance = QPointF::dotProduct(by, by);
    if (distance < least || (distance == least && plot_.points[i].passes)) {
      least = distance;
      nearest = static_cast<int>(i);
    }
  }
  return nearest;
}

bool ScatterChart::event(QEvent* event) {
  if (event->type() == QEvent::ToolTip && !is_empty()) {
    const auto* help = static_cast<QHelpEvent*>(event);
    const std::optional<int> point = point_at(help->pos());
    if (point && tip_) {
      QToolTip::showText(help->globalPos(), tip_(*point), this);
    } else {
      QToolTip::hideText();
    }
    return true;
  }
  return Chart::event(event);
}

void ScatterChart::mousePressEvent(QMouseEvent* event) {
  if (event->button() == Qt::LeftButton && !is_empty()) {
    pressed_ = event->position();
    free_ = !event->modifiers().testFlag(Qt::ShiftModifier);
  }
}

void ScatterChart::mouseMoveEvent(QMouseEvent* event) {
  if (!pressed_) {
    return;
  }
  const bool far = (event->position() - *pressed_).manhattanLength() >= QApplication::startDragDistance();
  if (!far && drawn_.isEmpty()) {
    return;
  }
  if (drawn_.isEmpty()) {
    drawn_ << *pressed_;
  }
  if (!free_) {
    drawn_ = QPolygonF({*pressed_, event->position()});
  } else if ((event->position() - drawn_.last()).manhattanLength() >= kBetweenCorners) {
    drawn_ << event->position();
  }
  update();
}

void ScatterChart::mouseReleaseEvent(QMouseEvent* event) {
  if (!pressed_ || event->button() != Qt::LeftButton) {
    return;
  }
  pressed_.reset();
  if (!drawn_.isEmpty()) {
    finish_brush();
  } else if (const std::optional<int> point = point_at(event->position())) {
    Q_EMIT activated(*point);
  }
}

// What encloses no point would leave nothing to see: it is dropped.
void ScatterChart::finish_brush() {
  const QPolygonF shape = std::exchange(drawn_, {});
  update();
  const auto enclosed = [&](const QPolygonF& around) {
    return std::any_of(plot_.points.begin(), plot_.points.end(), [&](const ScatterPoint& point) {
      return drawn(point) && around.containsPoint(frame_.place(point.x, point.y), Qt::OddEvenFill);
    });
  };
  if (free_) {
    if (shape.size() < 3 || !enclosed(shape)) {
      return;
    }
    QPolygonF corners;
    for (const QPointF& corner : shape) {
      corners << QPointF(frame_.x_at(corner.x()), frame_.y_at(corner.y()));
    }
    Q_EMIT lassoed(corners);
    return;
  }
  const QRectF box = QRectF(shape.first(), shape.last()).normalized();
  if (enclosed(QPolygonF(box))) {
    Q_EMIT brushed(frame_.x_at(box.left()), frame_.x_at(box.right()), frame_.y_at(box.bottom()),
                   frame_.y_at(box.top()));
  }
}

void ScatterChart::keyPressEvent(QKeyEvent* event) {
  const bool forward = event->key() == Qt::Key_Right || event->key() == Qt::Key_Down;
  const bool back = event->key() == Qt::Key_Left || event->key() == Qt::Key_Up;
  if (event->key() == Qt::Key_Escape && !drawn_.isEmpty()) {
    drawn_.clear();
    pressed_.reset();
    update();
    return;
  }
  if ((!forward && !back) || plot_.front.empty()) {
    Chart::keyPressEvent(event);
    return;
  }
  // Along the front: the points worth a look.
  const auto now = std::find(plot_.front.begin(), plot_.front.end(), selected_.value_or(-1));
  auto place = now == plot_.front.end() ? std::ptrdiff_t{0} : now - plot_.front.begin() + (forward ? 1 : -1);
  place = std::clamp<std::ptrdiff_t>(place, 0, static_cast<std::ptrdiff_t>(plot_.front.size()) - 1);
  Q_EMIT activated(plot_.front[static_cast<std::size_t>(place)]);
}

void ScatterChart::resizeEvent(QResizeEvent* event) {
  image_ = QImage();
  Chart::resizeEvent(event);
}

void ScatterChart::changeEvent(QEvent* event) {
  image_ = QImage();
  Chart::changeEvent(event);
}

}  // namespace trainyard::gui
