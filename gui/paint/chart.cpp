#include "gui/paint/chart.h"

#include <QApplication>
#include <QHelpEvent>
#include <QKeyEvent>
#include <QMouseEvent>
#include <QPaintEngine>
#include <QPainter>
#include <QToolTip>
#include <algorithm>

namespace trainyard::gui {

namespace {

constexpr double kEmptyMargin = 16.0;

}  // namespace

Chart::Chart(const QString& accessible_name, QWidget* parent) : QWidget(parent) {
  setAccessibleName(accessible_name);
  setFocusPolicy(Qt::StrongFocus);
  setMouseTracking(true);
}

void Chart::set_empty_text(const QString& text) {
  empty_text_ = text;
  update();
}

void Chart::paint_all(QPainter& painter, const QRectF& area, const Theme& theme) const {
  painter.fillRect(area, theme.background);
  if (is_empty()) {
    painter.setPen(theme.muted);
    painter.drawText(area.adjusted(kEmptyMargin, kEmptyMargin, -kEmptyMargin, -kEmptyMargin),
                     Qt::AlignCenter | Qt::TextWordWrap, empty_text_);
    return;
  }
  Spots unused;
  draw(painter, area, theme, unused);
}

void Chart::paintEvent(QPaintEvent*) {
  const Theme theme = current(palette());
  QPainter painter(this);
  spots_.clear();
  if (is_empty()) {
    paint_all(painter, rect(), theme);
    return;
  }
  painter.fillRect(rect(), theme.background);
  draw(painter, rect(), theme, spots_);
  paint_focus(painter, theme);
}

bool Chart::fit_layer(QImage& image) const {
  const QSize pixels = size() * devicePixelRatioF();
  if (image.size() == pixels) {
    return false;
  }
  image = QImage(pixels, QImage::Format_ARGB32_Premultiplied);
  image.setDevicePixelRatio(devicePixelRatioF());
  image.fill(Qt::transparent);
  return true;
}

bool Chart::keeps_lines(const QPainter& painter) { return painter.paintEngine()->type() == QPaintEngine::SVG; }

void Chart::paint_focus(QPainter& painter, const Theme& theme) const {
  if (!hasFocus() || focused_ < 0 || focused_ >= static_cast<int>(spots_.size())) {
    return;
  }
  painter.setBrush(Qt::NoBrush);
  painter.setPen(QPen(theme.selection, 2.0));
  painter.drawRect(spots_[static_cast<std::size_t>(focused_)].area.adjusted(-1.0, -1.0, 1.0, 1.0));
}

const Spot* Chart::spot_at(const QPointF& place) const {
  const auto found =
      std::find_if(spots_.rbegin(), spots_.rend(), [&](const Spot& s) { return s.area.contains(place); });
  return found == spots_.rend() ? nullptr : &*found;
}

bool Chart::event(QEvent* event) {
  if (event->type() == QEvent::ToolTip) {
    const auto* help = static_cast<QHelpEvent*>(event);
    const Spot* spot = spot_at(help->pos());
    if (spot != nullptr && !spot->tip.isEmpty()) {
      QToolTip::showText(help->globalPos(), spot->tip, this, spot->area.toAlignedRect());
    } else {
      QToolTip::hideText();
    }
    return true;
  }
  return QWidget::event(event);
}

void Chart::mousePressEvent(QMouseEvent* event) { pressed_ = event->position(); }

void Chart::mouseReleaseEvent(QMouseEvent* event) {
  const bool still = (event->position() - pressed_).manhattanLength() < QApplication::startDragDistance();
  const Spot* spot = spot_at(event->position());
  if (event->button() == Qt::LeftButton && still && spot != nullptr && spot->id >= 0) {
    Q_EMIT activated(spot->id);
  }
}

void Chart::mouseMoveEvent(QMouseEvent* event) {
  const Spot* spot = spot_at(event->position());
  const int id = spot == nullptr ? -1 : spot->id;
  if (id != hovered_) {
    hovered_ = id;
    setCursor(id >= 0 ? Qt::PointingHandCursor : Qt::ArrowCursor);
    Q_EMIT hovered(id);
  }
}

void Chart::leaveEvent(QEvent*) {
  if (hovered_ != -1) {
    hovered_ = -1;
    Q_EMIT hovered(-1);
  }
}

void Chart::step_focus(int by) {
  const int count = static_cast<int>(spots_.size());
  if (count == 0) {
    return;
  }
  focused_ = focused_ < 0 ? (by > 0 ? 0 : count - 1) : std::clamp(focused_ + by, 0, count - 1);
  const Spot& spot = spots_[static_cast<std::size_t>(focused_)];
  setAccessibleDescription(spot.tip);
  QToolTip::showText(mapToGlobal(spot.area.bottomLeft().toPoint()), spot.tip, this);
  update();
}

void Chart::keyPressEvent(QKeyEvent* event) {
  switch (event->key()) {
    case Qt::Key_Right:
    case Qt::Key_Down:
      step_focus(1);
      return;
    case Qt::Key_Left:
    case Qt::Key_Up:
      step_focus(-1);
      return;
    case Qt::Key_Return:
    case Qt::Key_Enter:
      if (focused_ >= 0 && focused_ < static_cast<int>(spots_.size())) {
        if (const int id = spots_[static_cast<std::size_t>(focused_)].id; id >= 0) {
          Q_EMIT activated(id);
        }
      }
      return;
    default:
      QWidget::keyPressEvent(event);
  }
}

void Chart::changeEvent(QEvent* event) {
  if (event->type() == QEvent::PaletteChange || event->type() == QEvent::FontChange ||
      event->type() == QEvent::StyleChange) {
    update();
  }
  QWidget::changeEvent(event);
}

}  // namespace trainyard::gui
