#include "gui/app/look.h"

#include <QApplication>
#include <QPainter>
#include <QProxyStyle>
#include <QSettings>
#include <QStyleFactory>
#include <QStyleOption>
#include <QToolTip>

#include "gui/app/system_look.h"
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

void use_own_style() {
  QApplication::setStyle(new OutlinedStyle(QStyleFactory::create(QStringLiteral("Fusion"))));  // the application's
}

void apply(Look look, const SystemLook& system) {
  const bool dark = look == Look::kDark || (look == Look::kSystem && system.dark());
  const QPalette palette = dark ? dark_palette() : light_palette();
  QApplication::setPalette(palette);
  QToolTip::setPalette(palette);
}

Look kept_look() { return static_cast<Look>(QSettings().value(QStringLiteral("look"), 0).toInt()); }

void keep_look(Look look) { QSettings().setValue(QStringLiteral("look"), static_cast<int>(look)); }

}  // namespace trainyard::gui
