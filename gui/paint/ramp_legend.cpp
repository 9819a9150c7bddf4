#include "gui/paint/ramp_legend.h"

#include <QFontMetrics>
#include <QPainter>

#include "gui/paint/theme.h"

namespace trainyard::gui {

namespace {

constexpr int kRamp = 72;  // pixels
constexpr int kSteps = 24;
constexpr int kGap = 6;

}  // namespace

RampLegend::RampLegend(QWidget* parent) : QWidget(parent) { setAccessibleName(tr("What the colours mean")); }

void RampLegend::set_labels(RampLabels labels) {
  labels_ = std::move(labels);
  const QString text = tr("Colours go by rank: by a plan's place among all, not by its value, so that many like plans "
                          "still differ.\n%1: worst %2, half of the plans up to %3, best %4.")
                           .arg(labels_.title, labels_.worst, labels_.middle, labels_.best);
  setToolTip(text);
  setAccessibleDescription(text);
  setVisible(!labels_.title.isEmpty());
  updateGeometry();
  update();
}

QString RampLegend::before() const { return tr("%1 by rank: %2").arg(labels_.title, labels_.worst); }

QString RampLegend::after() const { return labels_.best; }

QSize RampLegend::sizeHint() const {
  const QFontMetrics metrics = fontMetrics();
  return {metrics.horizontalAdvance(before()) + metrics.horizontalAdvance(after()) + kRamp + 3 * kGap,
          metrics.height() + 8};
}

void RampLegend::paintEvent(QPaintEvent*) {
  const Theme theme = current(palette());
  QPainter painter(this);
  painter.setPen(palette().color(QPalette::WindowText));
  const QFontMetrics metrics = fontMetrics();
  const int text = metrics.horizontalAdvance(before());
  painter.drawText(QRect(kGap, 0, text + 1, height()), Qt::AlignLeft | Qt::AlignVCenter, before());
  const double left = kGap + text + kGap;
  for (int i = 0; i < kSteps; ++i) {
    const double step = static_cast<double>(kRamp) / kSteps;
    painter.fillRect(QRectF(left + step * i, height() / 2.0 - 6.0, step + 0.5, 12.0),
                     theme.ramp(static_cast<double>(i) / (kSteps - 1)));
  }
  painter.drawText(QRectF(left + kRamp + kGap, 0, width(), height()), Qt::AlignLeft | Qt::AlignVCenter, after());
}

}  // namespace trainyard::gui
