// FilterChips: the filters of the results as buttons in a row; a click takes one off.
#pragma once

#include <QWidget>

#include "gui/session/results.h"

class QHBoxLayout;

namespace trainyard::gui {

class FilterChips : public QWidget {
  Q_OBJECT

 public:
  explicit FilterChips(Results& results, QWidget* parent = nullptr);

 private:
  void refresh();

  Results& results_;
  QHBoxLayout* row_;
};

}  // namespace trainyard::gui
