#include "gui/paint/topology_labels.h"

#include <QFontMetricsF>
#include <QPainter>
#include <algorithm>
#include <cmath>
#include <string>

#include "gui/paint/label_places.h"
#include "gui/paint/topology_painter.h"

namespace trainyard::gui {

namespace {

constexpr double kNameFrom = 56.0;  // pixels wide: a pod with a name

QRectF strip_of(const TopologyFrame& frame, const std::vector<VertexId>& switches) {
  return frame.pixels(frame.picture->rect(switches.front())->united(*frame.picture->rect(switches.back())));
}

class Labels {
 public:
  Labels(QPainter& painter, const TopologyFrame& frame)
      : painter_(painter), frame_(frame), metrics_(frame.font), places_(frame.window()) {}

  void draw() {
    const Tiers tiers = tiers_of(frame_);
    for (const PodPicture& pod : frame_.picture->pods()) {
      places_.take(frame_.pixels(pod.frame));
    }
    for (const auto& [kind, switches] : tiers) {
      places_.take(strip_of(frame_, switches));
    }
    for (const PodPicture& pod : frame_.picture->pods()) {
      name_pod(pod);
    }
    for (const Trunk& trunk : frame_.picture->trunks()) {
      take_line(trunk);
    }
    for (const auto& [kind, switches] : tiers) {
      name_tier(kind, switches);
    }
    for (const Trunk& trunk : frame_.picture->trunks()) {
      write_load(trunk);
    }
  }

 private:
  // In the frame's band for it, or where that is too low beyond the frame.
  void name_pod(const PodPicture& pod) {
    const QRectF area = frame_.pixels(pod.frame);
    if (area.width() < kNameFrom || !area.intersects(frame_.window())) {
      return;
    }
    constexpr double kLeft = 3.0;
    const QString name =
        metrics_.elidedText(QString::fromStdString(pod.name), Qt::ElideRight, area.width() - 2.0 * kLeft);
    const QSizeF size(metrics_.horizontalAdvance(name) + 1.0, metrics_.height());
    double below = pod.lattice.top();
    for (const std::vector<VertexId>* strip : {&pod.leaves, &pod.spines}) {
      below = strip->empty() ? below : std::min(below, frame_.picture->rect(strip->front())->top());
    }
    const double room = (below - pod.frame.top()) * frame_.view.scale;
    if (room >= size.height()) {
      write(QRectF(area.topLeft() + QPointF(kLeft, 1.0), size), name, frame_.theme.text);
    } else if (const auto place = places_.place({QRectF(area.topLeft() + QPointF(0.0, -size.height()), size),
                                                 QRectF(area.bottomLeft() + QPointF(0.0, 1.0), size)})) {
      write(*place, name, frame_.theme.text);
    }
  }

  // No label lies on a trunk that stands upright; slanted ones are many and labels beside them rare.
  void take_line(const Trunk& trunk) {
    const QPointF a = frame_.pixel(trunk.begin);
    const QPointF b = frame_.pixel(trunk.end);
    if (a.x() == b.x()) {
      constexpr double kHalfWidth = 3.0;
      places_.take(QRectF(a, b).normalized().adjusted(-kHalfWidth, 0.0, kHalfWidth, 0.0));
    }
  }

  void name_tier(VertexKind kind, const std::vector<VertexId>& switches) {
    const QRectF strip = strip_of(frame_, switches);
    const QString text =
        QStringLiteral("%1 × %2").arg(switches.size()).arg(QString::fromStdString(std::string(to_string(kind))));
    const QSizeF size(metrics_.horizontalAdvance(text) + 1.0, metrics_.height());
    constexpr double kGap = 6.0;
    const double left = std::max(strip.left(), kGap);
    const double middle = strip.center().y() - size.height() / 2.0;
    if (const auto place = places_.place(
            {QRectF(QPointF(left, strip.top() - size.height() - 1.0), size),
             QRectF(QPointF(strip.left() - size.width() - kGap, middle), size),
             QRectF(QPointF(strip.right() + kGap, middle), size), QRectF(QPointF(left, strip.bottom() + 1.0), size),
             QRectF(QPointF(strip.right() - size.width(), strip.top() - size.height() - 1.0), size)})) {
      write(*place, text, frame_.theme.muted);
    }
  }

  void write_load(const Trunk& trunk) {
    if (!frame_.links->known() || trunk.from != kAbove) {
      return;
    }
    const QPointF middle = (frame_.pixel(trunk.begin) + frame_.pixel(trunk.end)) / 2.0;
    const QString text = QStringLiteral("%1 %").arg(std::lround(100.0 * frame_.links->fullest(trunk.links)));
    const QSizeF size(metrics_.horizontalAdvance(text) + 1.0, metrics_.height());
    constexpr double kGap = 8.0;
    const double top = middle.y() - size.height() / 2.0;
    if (const auto place = places_.place({QRectF(QPointF(middle.x() + kGap, top), size),
                                          QRectF(QPointF(middle.x() - kGap - size.width(), top), size)})) {
      write(*place, text, frame_.theme.text);
    }
  }

  void write(const QRectF& place, const QString& text, const QColor& colour) {
    painter_.setPen(colour);
    painter_.drawText(place, Qt::AlignLeft | Qt::AlignVCenter | Qt::TextDontClip, text);
  }

  QPainter& painter_;
  const TopologyFrame& frame_;
  QFontMetricsF metrics_;
  LabelPlaces places_;
};

}  // namespace

Tiers tiers_of(const TopologyFrame& frame) {
  Tiers tiers;
  for (const VertexId id : frame.picture->above()) {
    tiers[frame.cluster->vertex(id).kind].push_back(id);
  }
  return tiers;
}

void draw_labels(QPainter& painter, const TopologyFrame& frame) { Labels(painter, frame).draw(); }

}  // namespace trainyard::gui
