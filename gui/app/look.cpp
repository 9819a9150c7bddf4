#include "gui/app/look.h"

#include <QApplication>
#include <QStyle>
#include <QStyleFactory>
#include <QToolTip>

#include "gui/paint/theme.h"

namespace trainyard::gui {

QPalette use_own_style() {
  const QPalette system = QApplication::palette();
  QApplication::setStyle(QStyleFactory::create(QStringLiteral("Fusion")));
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
