#include "gui/views/load_legend.h"

#include <QPainter>
#include <algorithm>

#include "gui/paint/hatch.h"

namespace trainyard::gui {

namespace {

constexpr int kSteps = 5;
constexpr int kMostGroups = static_cast<int>(kCellLooks);
constexpr double kSwatch = 26.0;

}  // namespace

LoadLegend::LoadLegend(QWidget* parent) : QWidget(parent) {
  setSizePolicy(QSizePolicy::Preferred, QSizePolicy::Fixed);
  setAccessibleName(tr("Legend of the topology"));
}

void LoadLegend::set(bool loads_known, const GpuColours& colours) {
  loads_known_ = loads_known;
  colours_ = colours;
  setToolTip(loads_known
                 ? tr("Links: colour and width by the share of the time that the busier direction sends at full "
                      "rate; a trunk between pods shows its fullest link")
                 : tr("No loads yet: links have one colour"));
  update();
}

QSize LoadLegend::sizeHint() const { return {300, fontMetrics().height() + 6}; }

void LoadLegend::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  const Theme theme = current(palette());
  const double middle = height() / 2.0;
  double x = 2.0;
  const auto text = [&](const QString& words) {
    painter.setPen(theme.text);
    const double width = fontMetrics().horizontalAdvance(words);
    painter.drawText(QRectF(x, 0, width + 2.0, height()), Qt::AlignVCenter, words);
    x += width + 10.0;
  };
  if (loads_known_) {
    text(tr("links busy:"));
    for (int i = 0; i < kSteps; ++i) {
      const double busy = static_cast<double>(i) / (kSteps - 1);
      painter.setPen(QPen(theme.ramp(busy), load_width(busy)));
      painter.drawLine(QPointF(x, middle), QPointF(x + kSwatch, middle));
      x += kSwatch + 4.0;
      text(QStringLiteral("%1 %").arg(100.0 * busy, 0, 'f', 0));
    }
  }
  if (!colours_.category.empty()) {
    text(QStringLiteral("%1:").arg(QString::fromStdString(colours_.title)));
    const int groups = static_cast<int>(colours_.names.size());
    const QString rest = tr("… numbers show close up");
    const double room = width() - fontMetrics().horizontalAdvance(rest) - 50.0;
    int shown = 0;
    for (; shown < std::min(groups, kMostGroups) && x < room; ++shown) {
      fill(painter, QRectF(x, middle - 6.0, 12.0, 12.0), theme.cell(static_cast<std::size_t>(shown)));
      x += 16.0;
      text(QString::fromStdString(colours_.names[static_cast<std::size_t>(shown)]));
    }
    if (shown < groups) {
      text(rest);
    }
  }
}

}  // namespace trainyard::gui
