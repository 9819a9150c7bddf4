#include "gui/views/kind_legend.h"

#include <QHelpEvent>
#include <QPainter>
#include <QToolTip>

#include "gui/paint/hatch.h"
#include "gui/paint/slice_text.h"
#include "gui/paint/theme.h"
#include "gui/paint/timeline_painter.h"

namespace trainyard::gui {

namespace {

constexpr int kSwatch = 14;
constexpr int kGap = 14;

QString text_of(InstructionKind kind) {
  return QStringLiteral("%1  %2").arg(QString::fromStdString(kind_letter(kind)),
                                      QString::fromStdString(kind_name(kind)));
}

}  // namespace

KindLegend::KindLegend(QWidget* parent) : QWidget(parent) {
  QSizePolicy policy(QSizePolicy::Preferred, QSizePolicy::Minimum);
  policy.setHeightForWidth(true);
  setSizePolicy(policy);
  setAccessibleName(tr("Kinds of work on the timeline"));
}

void KindLegend::set_kinds(std::vector<InstructionKind> kinds) {
  kinds_ = std::move(kinds);
  QStringList names;
  for (const InstructionKind kind : kinds_) {
    names << text_of(kind);
  }
  setAccessibleDescription(names.join(QStringLiteral(", ")));
  updateGeometry();
  update();
}

std::vector<QRect> KindLegend::places(int width) const {
  std::vector<QRect> places;
  const int high = fontMetrics().height() + 4;
  int x = 0;
  int y = 0;
  for (const InstructionKind kind : kinds_) {
    const int wide = kSwatch + 5 + fontMetrics().horizontalAdvance(text_of(kind));
    if (x > 0 && x + wide > width) {
      x = 0;
      y += high;
    }
    places.emplace_back(x, y, wide, high);
    x += wide + kGap;
  }
  return places;
}

int KindLegend::heightForWidth(int width) const {
  const std::vector<QRect> all = places(width);
  return all.empty() ? 0 : all.back().bottom() + 1;
}

QSize KindLegend::sizeHint() const { return {400, heightForWidth(width() > 0 ? width() : 400)}; }

void KindLegend::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  const Theme theme = current(palette());
  const std::vector<QRect> all = places(width());
  for (std::size_t i = 0; i < all.size(); ++i) {
    const QRectF swatch(all[i].left(), all[i].center().y() - kSwatch / 2.0 + 1.0, kSwatch, kSwatch);
    fill(painter, swatch, kind_category(theme, kinds_[i]));
    painter.setPen(palette().color(QPalette::WindowText));
    painter.drawText(all[i].adjusted(kSwatch + 5, 0, 1, 0), Qt::AlignVCenter, text_of(kinds_[i]));
  }
}

bool KindLegend::event(QEvent* event) {
  if (event->type() == QEvent::ToolTip) {
    const auto* help = static_cast<QHelpEvent*>(event);
    const std::vector<QRect> all = places(width());
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (all[i].contains(help->pos())) {
        QToolTip::showText(help->globalPos(), QString::fromStdString(kind_meaning(kinds_[i])), this);
        return true;
      }
    }
    QToolTip::hideText();
    return true;
  }
  return QWidget::event(event);
}

}  // namespace trainyard::gui
