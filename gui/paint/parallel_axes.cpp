#include "gui/paint/parallel_axes.h"

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

constexpr double kBefore = 30.0;         // the first axis
constexpr double kAfter = 76.0;          // the last one and its labels
constexpr double kReach = 12.0;          // of a drag beside an axis
constexpr double kNear = 6.0;            // of a click beside a line
constexpr std::size_t kFewLines = 1500;  // drawn smooth

bool known(double value) { return std::isfinite(value); }

}  // namespace

ParallelAxes::ParallelAxes(const QString& accessible_name, QWidget* parent) : Chart(accessible_name, parent) {}

void ParallelAxes::set_plot(ParallelPlot plot) {
  plot_ = std::move(plot);
  plot_.passes.resize(plot_.values.size(), 1);
  plot_.shades.resize(plot_.values.size(), 0.0);
  brushes_.resize(plot_.axes.size());
  if (order_.size() != plot_.axes.size()) {
    order_.resize(plot_.axes.size());
    std::iota(order_.begin(), order_.end(), 0);
  }
  forget_layers();
}

void ParallelAxes::set_passes(std::vector<char> passes) {
  passes.resize(plot_.values.size(), 1);
  if (passes != plot_.passes) {
    plot_.passes = std::move(passes);
    passing_ = QImage();  // what lies behind shows all lines, whether they pass or not
    update();
  }
}

void ParallelAxes::set_brushes(std::vector<Brush> brushes) {
  brushes.resize(plot_.axes.size());
  brushes_ = std::move(brushes);
  update();
}

void ParallelAxes::set_order(std::vector<int> order) {
  if (order.size() == plot_.axes.size() && order != order_) {
    order_ = std::move(order);
    forget_layers();
    Q_EMIT order_changed();
  }
}

void ParallelAxes::set_selected(std::optional<int> point, std::optional<int> a, std::optional<int> b) {
  selected_ = point;
  a_ = a;
  b_ = b;
  update();
}

void ParallelAxes::forget_layers() {
  places_.clear();
  context_ = QImage();
  passing_ = QImage();
  update();
}

QRectF ParallelAxes::lines_area(const QRectF& area) const {
  const double line = QFontMetricsF(font()).height();
  return area.adjusted(kBefore, 2.0 * line + 8.0, -kAfter, -line);
}

double ParallelAxes::x_of(const QRectF& lines, int place) const {
  const auto gaps = static_cast<double>(order_.size()) - 1.0;
  return gaps > 0.0 ? lines.left() + lines.width() * place / gaps : lines.center().x();
}

double ParallelAxes::y_of(const QRectF& lines, int axis, double value) const {
  const double share = plot_.axes[static_cast<std::size_t>(axis)].axis.share(value);
  return lines.bottom() - std::clamp(share, 0.0, 1.0) * lines.height();
}

QRectF ParallelAxes::axis_area(int axis) const {
  const QRectF lines = lines_area(rect());
  const auto place = std::find(order_.begin(), order_.end(), axis) - order_.begin();
  const double x = x_of(lines, static_cast<int>(place));
  return {x - kReach, lines.top(), 2.0 * kReach, lines.height()};
}

// Names stand on two lines in turn, so that each has the room of two.
QRectF ParallelAxes::name_area(int axis) const {
  const QRectF lines = lines_area(rect());
  const auto place = static_cast<int>(std::find(order_.begin(), order_.end(), axis) - order_.begin());
  const double gap = order_.size() > 1 ? lines.width() / static_cast<double>(order_.size() - 1) : lines.width();
  const double width = std::max(20.0, std::min(2.0 * gap - 8.0, 160.0));
  const double line = QFontMetricsF(font()).height();
  const double left = rect().left() + 2.0;
  const double center =
      std::clamp(x_of(lines, place), left + width / 2.0, std::max(left + width / 2.0, rect().right() - width / 2.0));
  return {center - width / 2.0, lines.top() - (place % 2 == 0 ? 2.0 : 1.0) * line - 4.0, width, line};
}

ParallelAxes::Places ParallelAxes::places_of(const QRectF& lines, double scale) const {
  Places places(plot_.axes.size(), std::vector<std::int16_t>(plot_.values.size()));
  for (std::size_t axis = 0; axis < plot_.axes.size(); ++axis) {
    for (std::size_t point = 0; point < plot_.values.size(); ++point) {
      const double value = plot_.values[point][axis];
      const double y = known(value) ? (y_of(lines, static_cast<int>(axis), value) - lines.top()) * scale : -1.0;
      places[axis][point] = static_cast<std::int16_t>(y);
    }
  }
  return places;
}

std::vector<BundledLine> ParallelAxes::lines_between(const Places& places, std::size_t gap, bool passing,
                                                     int height) const {
  const std::vector<std::int16_t>& from = places[static_cast<std::size_t>(order_[gap])];
  const std::vector<std::int16_t>& to = places[static_cast<std::size_t>(order_[gap + 1])];
  std::vector<BundledLine> all;
  all.reserve(plot_.values.size());
  for (std::size_t point = 0; point < plot_.values.size(); ++point) {
    if ((!passing || plot_.passes[point] != 0) && from[point] >= 0 && to[point] >= 0) {
      const double share = known(plot_.shades[point]) ? std::clamp(plot_.shades[point], 0.0, 1.0) : 0.0;
      const int shade = passing ? std::min(kLineShades - 1, static_cast<int>(share * kLineShades)) : 0;
      all.push_back({from[point], to[point], static_cast<std::uint8_t>(shade)});
    }
  }
  return bundled(all, height);
}

QColor ParallelAxes::colour_of(const Theme& theme, int shade, bool passing) const {
  if (!passing) {
    return theme.missing;
  }
  return !plot_.shaded ? theme.colours[0] : theme.ramp(static_cast<double>(shade) / (kLineShades - 1));
}

void ParallelAxes::draw_lines(QPainter& painter, const QRectF& area, const Theme& theme, bool passing) const {
  const QRectF lines = lines_area(area);
  painter.setRenderHint(QPainter::Antialiasing);
  const Places places = places_of(lines, 1.0);
  for (std::size_t place = 0; place + 1 < order_.size(); ++place) {
    const std::vector<BundledLine> kept = lines_between(places, place, passing, static_cast<int>(lines.height()) + 1);
    const double left = x_of(lines, static_cast<int>(place));
    const double right = x_of(lines, static_cast<int>(place) + 1);
    std::vector<QLineF> batch;
    for (std::size_t i = 0; i < kept.size(); ++i) {
      batch.emplace_back(left, lines.top() + kept[i].from, right, lines.top() + kept[i].to);
      if (i + 1 == kept.size() || kept[i + 1].shade != kept[i].shade) {
        QPen pen(colour_of(theme, kept[i].shade, passing), 1.0);
        pen.setCosmetic(false);
        painter.setPen(pen);
        painter.drawLines(batch.data(), static_cast<int>(batch.size()));
        batch.clear();
      }
    }
  }
}

// On the screen: smooth while there are few, by our own rasteriser where there are thousands.
void ParallelAxes::paint_lines(QImage& image, const Theme& theme, bool passing) {
  const double scale = image.devicePixelRatio();
  const QRectF lines = lines_area(rect());
  std::array<QRgb, kLineShades + 1> colours{};
  for (int shade = 0; shade < kLineShades; ++shade) {
    colours.at(static_cast<std::size_t>(shade) + 1) = colour_of(theme, shade, passing).rgb();
  }
  const int height = static_cast<int>(lines.height() * scale) + 1;
  if (places_.empty()) {
    places_ = places_of(lines, scale);
  }
  for (std::size_t place = 0; place + 1 < order_.size(); ++place) {
    const std::vector<BundledLine> kept = lines_between(places_, place, passing, height);
    const double left = x_of(lines, static_cast<int>(place)) * scale;
    const double right = x_of(lines, static_cast<int>(place) + 1) * scale;
    if (kept.size() < kFewLines) {
      QPainter painter(&image);
      painter.setRenderHint(QPainter::Antialiasing);
      painter.scale(1.0 / scale, 1.0 / scale);
      for (const BundledLine& line : kept) {
        painter.setPen(QPen(QColor(colours.at(line.shade + std::size_t{1})), scale));
        painter.drawLine(QPointF(left, lines.top() * scale + line.from), QPointF(right, lines.top() * scale + line.to));
      }
      continue;
    }
    const int first = static_cast<int>(left);
    const int width = static_cast<int>(right) - first;
    const std::vector<std::uint8_t> pixels = rasterised(kept, width, height);
    const int top = static_cast<int>(lines.top() * scale);
    for (int y = 0; y <= height && top + y < image.height(); ++y) {
      auto* row = reinterpret_cast<QRgb*>(image.scanLine(top + y)) + first;
      for (int x = 0; x < width; ++x) {
        const std::uint8_t shade =
            pixels[static_cast<std::size_t>(x) * (static_cast<std::size_t>(height) + 1) + static_cast<std::size_t>(y)];
        if (shade != 0) {
          row[x] = colours.at(shade);
        }
      }
    }
  }
}

void ParallelAxes::draw_axes(QPainter& painter, const QRectF& area, const Theme& theme) const {
  const QRectF lines = lines_area(area);
  const QFontMetricsF metrics(painter.font());
  painter.setRenderHint(QPainter::Antialiasing, false);
  const int most = std::clamp(static_cast<int>(lines.height() / (2.5 * metrics.height())), 2, 10);
  for (std::size_t place = 0; place < order_.size(); ++place) {
    const int index = order_[place];
    const ParallelAxis& axis = plot_.axes[static_cast<std::size_t>(index)];
    const double x = x_of(lines, static_cast<int>(place));
    painter.setPen(QPen(theme.axis, 1.5));
    painter.drawLine(QPointF(x, lines.top()), QPointF(x, lines.bottom()));
    const bool last = place + 1 == order_.size();
    const double room = last ? kAfter - 8.0 : x_of(lines, static_cast<int>(place) + 1) - x - 12.0;
    double labelled = -1e9;  // where the last label is
    for (const Tick& tick : axis.ticks.empty() ? axis.axis.ticks(most) : axis.ticks) {
      const double y = y_of(lines, index, tick.value);
      painter.setPen(QPen(theme.axis, 1.0));
      painter.drawLine(QPointF(x - 3.0, y), QPointF(x + 3.0, y));
      if (std::abs(y - labelled) < metrics.height() * 0.9) {
        continue;  // no room
      }
      labelled = y;
      const QString text = metrics.elidedText(tick.label, Qt::ElideRight, room);
      const QRectF label(x + 6.0, y - metrics.height() / 2.0, metrics.horizontalAdvance(text) + 2.0, metrics.height());
      QColor behind = theme.background;
      behind.setAlphaF(0.75F);
      painter.fillRect(label, behind);
      painter.setPen(theme.text);
      painter.drawText(label, Qt::AlignCenter, text);
    }
    QFont font = painter.font();
    font.setBold(plot_.shaded_by == index);
    painter.save();
    painter.setFont(font);
    painter.setPen(theme.text);
    const QRectF name = name_area(index);
    painter.drawText(name, Qt::AlignCenter, QFontMetricsF(font).elidedText(axis.name, Qt::ElideRight, name.width()));
    painter.restore();
  }
}

void ParallelAxes::draw_brushes(QPainter& painter, const QRectF& area, const Theme& theme) const {
  const QRectF lines = lines_area(area);
  for (std::size_t place = 0; place < order_.size(); ++place) {
    const int axis = order_[place];
    const Brush& brush = brushes_[static_cast<std::size_t>(axis)];
    if (!brush) {
      continue;
    }
    const double x = x_of(lines, static_cast<int>(place));
    const double top = y_of(lines, axis, brush->second);
    const double bottom = y_of(lines, axis, brush->first);
    QColor shade = theme.selection;
    painter.setPen(QPen(shade, 1.5));
    shade.setAlphaF(0.35F);
    painter.setBrush(shade);
    painter.drawRect(QRectF(x - 7.0, top - 2.0, 14.0, bottom - top + 4.0));
  }
}

void ParallelAxes::draw_line(QPainter& painter, const QRectF& lines, int point) const {
  const std::vector<double>& values = plot_.values[static_cast<std::size_t>(point)];
  QPolygonF path;
  for (std::size_t place = 0; place <= order_.size(); ++place) {
    if (place < order_.size() && known(values[static_cast<std::size_t>(order_[place])])) {
      path << QPointF(x_of(lines, static_cast<int>(place)),
                      y_of(lines, order_[place], values[static_cast<std::size_t>(order_[place])]));
    } else {
      painter.drawPolyline(path);
      path.clear();
    }
  }
}

void ParallelAxes::draw_selected(QPainter& painter, const QRectF& area, const Theme& theme) const {
  const QRectF lines = lines_area(area);
  painter.setRenderHint(QPainter::Antialiasing);
  painter.setBrush(Qt::NoBrush);
  const auto one = [&](std::optional<int> point, const QColor& colour, Qt::PenStyle style) {
    if (point && *point >= 0 && *point < static_cast<int>(plot_.values.size())) {
      painter.setPen(QPen(theme.background, 5.0));
      draw_line(painter, lines, *point);
      painter.setPen(QPen(colour, 2.5, style));
      draw_line(painter, lines, *point);
    }
  };
  one(a_, theme.plan_a, Qt::DashLine);
  one(b_, theme.plan_b, Qt::DotLine);
  one(selected_, theme.selection, Qt::SolidLine);
}

void ParallelAxes::draw(QPainter& painter, const QRectF& area, const Theme& theme, Spots&) const {
  painter.save();
  draw_lines(painter, area, theme, false);
  draw_lines(painter, area, theme, true);
  draw_selected(painter, area, theme);
  draw_axes(painter, area, theme);
  draw_brushes(painter, area, theme);
  painter.restore();
}

void ParallelAxes::paint_layers(const Theme& theme) {
  if (fit_layer(context_)) {
    context_.fill(theme.background);
    paint_lines(context_, theme, false);
  }
  if (fit_layer(passing_)) {
    paint_lines(passing_, theme, true);
  }
}

void ParallelAxes::paintEvent(QPaintEvent* event) {
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
  paint_layers(theme);
  painter.drawImage(QPointF(), context_);
  painter.drawImage(QPointF(), passing_);
  draw_selected(painter, rect(), theme);
  draw_axes(painter, rect(), theme);
  draw_brushes(painter, rect(), theme);
  if (hasFocus() && focused_ < static_cast<int>(order_.size())) {
    painter.setPen(QPen(theme.selection, 1.0, Qt::DotLine));
    painter.setBrush(Qt::NoBrush);
    painter.drawRect(name_area(order_[static_cast<std::size_t>(focused_)]));
  }
}

std::optional<int> ParallelAxes::axis_near(const QPointF& place) const {
  for (const int axis : order_) {
    if (axis_area(axis).adjusted(0.0, -4.0, 0.0, 4.0).contains(place)) {
      return axis;
    }
  }
  return std::nullopt;
}

std::optional<int> ParallelAxes::point_at(const QPointF& place) const {
  const QRectF lines = lines_area(rect());
  if (order_.size() < 2 || !lines.contains(place)) {
    return std::nullopt;
  }
  const double gap = lines.width() / static_cast<double>(order_.size() - 1);
  const auto left = std::min(order_.size() - 2, static_cast<std::size_t>((place.x() - lines.left()) / gap));
  const double along = (place.x() - x_of(lines, static_cast<int>(left))) / gap;
  std::optional<int> nearest;
  double least = kNear;
  for (std::size_t point = 0; point < plot_.values.size(); ++point) {
    const double from = plot_.values[point][static_cast<std::size_t>(order_[left])];
    const double to = plot_.values[point][static_cast<std::size_t>(order_[left + 1])];
    if (plot_.passes[point] == 0 || !known(from) || !known(to)) {
      continue;
    }
    const double y = (1.0 - along) * y_of(lines, order_[left], from) + along * y_of(lines, order_[left + 1], to);
    if (std::abs(y - place.y()) < least) {
      least = std::abs(y - place.y());
      nearest = static_cast<int>(point);
    }
  }
  return nearest;
}

bool ParallelAxes::event(QEvent* event) {
  if (event->type() == QEvent::ToolTip && !is_empty()) {
    const auto* help = static_cast<QHelpEvent*>(event);
    for (const int axis : order_) {
      if (name_area(axis).contains(help->pos())) {
        QToolTip::showText(help->globalPos(), plot_.axes[static_cast<std::size_t>(axis)].tip, this);
        return true;
      }
    }
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

void ParallelAxes::mousePressEvent(QMouseEvent* event) {
  if (event->button() != Qt::LeftButton || is_empty()) {
    return;
  }
  pressed_ = event->position();
  dragged_ = false;
  for (const int axis : order_) {
    if (name_area(axis).contains(pressed_)) {
      moving_ = axis;
      return;
    }
  }
  brushing_ = axis_near(pressed_);
}

void ParallelAxes::mouseMoveEvent(QMouseEvent* event) {
  if (!brushing_ && !moving_) {
    const bool on_axis = axis_near(event->position()).has_value();
    setCursor(on_axis ? Qt::SizeVerCursor : Qt::ArrowCursor);
    return;
  }
  dragged_ = dragged_ || (event->position() - pressed_).manhattanLength() >= QApplication::startDragDistance();
  if (!dragged_) {
    return;
  }
  const QRectF lines = lines_area(rect());
  if (brushing_) {
    const Axis& axis = plot_.axes[static_cast<std::size_t>(*brushing_)].axis;
    const auto value = [&](double y) {
      return axis.value(std::clamp((lines.bottom() - y) / lines.height(), 0.0, 1.0));
    };
    const double one = value(pressed_.y());
    const double other = value(event->position().y());
    Q_EMIT brushed(*brushing_, std::min(one, other), std::max(one, other));
    return;
  }
  // The axis goes to the place under the pointer.
  const double gap = lines.width() / std::max(1.0, static_cast<double>(order_.size()) - 1.0);
  const auto target = std::clamp(static_cast<int>(std::lround((event->position().x() - lines.left()) / gap)), 0,
                                 static_cast<int>(order_.size()) - 1);
  std::vector<int> order = order_;
  order.erase(std::find(order.begin(), order.end(), *moving_));
  order.insert(order.begin() + target, *moving_);
  set_order(std::move(order));
}

void ParallelAxes::mouseReleaseEvent(QMouseEvent* event) {
  const std::optional<int> brushed_axis = std::exchange(brushing_, std::nullopt);
  const std::optional<int> moved = std::exchange(moving_, std::nullopt);
  if (event->button() != Qt::LeftButton || dragged_ || is_empty()) {
    return;
  }
  if (moved) {
    Q_EMIT shade_wanted(*moved);
  } else if (brushed_axis && brushes_[static_cast<std::size_t>(*brushed_axis)]) {
    Q_EMIT brush_removed(*brushed_axis);
  } else if (const std::optional<int> point = point_at(event->position())) {
    Q_EMIT activated(*point);
  }
}

void ParallelAxes::keyPressEvent(QKeyEvent* event) {
  if (is_empty()) {
    Chart::keyPressEvent(event);
    return;
  }
  const int axis = order_[static_cast<std::size_t>(std::clamp(focused_, 0, static_cast<int>(order_.size()) - 1))];
  const bool moves = event->modifiers().testFlag(Qt::ControlModifier);
  const int by = event->key() == Qt::Key_Right ? 1 : event->key() == Qt::Key_Left ? -1 : 0;
  if (by != 0) {
    const int to = std::clamp(focused_ + by, 0, static_cast<int>(order_.size()) - 1);
    if (moves) {
      std::vector<int> order = order_;
      std::swap(order[static_cast<std::size_t>(focused_)], order[static_cast<std::size_t>(to)]);
      set_order(std::move(order));
    }
    focused_ = to;
    setAccessibleDescription(plot_.axes[static_cast<std::size_t>(order_[static_cast<std::size_t>(to)])].name);
    update();
  } else if (event->key() == Qt::Key_Delete || event->key() == Qt::Key_Backspace) {
    Q_EMIT brush_removed(axis);
  } else if (event->key() == Qt::Key_Return || event->key() == Qt::Key_Enter) {
    Q_EMIT shade_wanted(axis);
  } else {
    Chart::keyPressEvent(event);
  }
}

void ParallelAxes::resizeEvent(QResizeEvent* event) {
  forget_layers();
  Chart::resizeEvent(event);
}

void ParallelAxes::changeEvent(QEvent* event) {
  forget_layers();
  Chart::changeEvent(event);
}

}  // namespace trainyard::gui
