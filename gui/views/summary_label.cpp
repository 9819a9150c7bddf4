#include "gui/views/summary_label.h"

#include <QLabel>

namespace trainyard::gui {

QLabel* make_summary(QWidget* parent) {
  auto* label = new QLabel(parent);
  label->setWordWrap(true);
  label->setTextInteractionFlags(Qt::TextSelectableByMouse | Qt::TextSelectableByKeyboard);
  label->setMinimumHeight(label->fontMetrics().height());
  return label;
}

}  // namespace trainyard::gui
