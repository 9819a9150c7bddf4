#include "gui/app/look.h"

#include <QApplication>
#include <QPainter>
#include <QProxyStyle>
#include <QStyleFactory>
#include <QStyleOption>
#include <QToolTip>

#include "gui/paint/theme.h"

namespace trainyard::gui {

namespace {

// Fusion outlines check boxes in a shade of the window, which in dark is hardly seen.
class OutlinedStyle : public QProxyStyle {
 public:
  using QProxyStyle::QProxyStyle;
  void drawPrimitive(PrimitiveElement element, const QStyleOption* option, QPainter* painter,
                     const QWidget* widget) const override {
    QProxyStyle::drawPrimitive(element, option, painter, widget);
    if (element == PE_IndicatorCheckBox && current(option->palette).dark) {
      painter->save();
      painter->setPen(option->palette.color(QPalette::PlaceholderText));
      painter->setBrush(Qt::NoBrush);
      painter->drawRect(option->rect.adjusted(0, 0, -1, -1));
      painter->restore();
    }
  }
};

}  // namespace

QPalette use_own_style() {
  const QPalette system = QApplication::palette();
  QApplication::setStyle(new OutlinedStyle(QStyleFactory::create(QStringLiteral("Fusion"))));  // the application's
  return system;
}

void apply(Look look, const QPalette& system) {
  const QPalette palette = look == Look::kDark    ? dark_palette()
                           : look == Look::kLight ? light_palette()
                           : current(system).dark ? dark_palette()
                                                  : light_palette();
  QApplication::setPalette(palette);
  QToolTip::setPalette(palette);
}

}  // namespace trainyard::gui
