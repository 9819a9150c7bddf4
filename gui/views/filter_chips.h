// FilterChips: the filters of the results as buttons in a row; a click takes one off.
#pragma once

#include <QWidget>

#include "gui/session/results.h"

namespace trainyard::gui {

class FlowLayout;

class FilterChips : public QWidget {
  Q_OBJECT

 public:
  explicit FilterChips(Results& results, QWidget* parent = nullptr);

 private:
  void refresh();

  Results& results_;
  FlowLayout* row_;
};

}  // namespace trainyard::gui
