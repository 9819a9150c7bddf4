// KindLegend: the kinds of work on a timeline, a swatch with colour and hatch and a name each; hovering says what it
// is.
#pragma once

#include <QWidget>
#include <vector>

#include "core/program/instruction.h"

namespace trainyard::gui {

class KindLegend : public QWidget {
  Q_OBJECT

 public:
  explicit KindLegend(QWidget* parent = nullptr);
  void set_kinds(std::vector<InstructionKind> kinds);
  QSize sizeHint() const override;
  bool hasHeightForWidth() const override { return true; }
  int heightForWidth(int width) const override;

 protected:
  void paintEvent(QPaintEvent* event) override;
  bool event(QEvent* event) override;

 private:
  std::vector<QRect> places(int width) const;
  std::vector<InstructionKind> kinds_;
};

}  // namespace trainyard::gui
