// LoadLegend: what the colours and widths of a topology mean: the ramp of loads, or the first groups.
#pragma once

#include <QWidget>

#include "gui/paint/topology_painter.h"

namespace trainyard::gui {

class LoadLegend : public QWidget {
  Q_OBJECT

 public:
  explicit LoadLegend(QWidget* parent = nullptr);
  void set(bool loads_known, const GpuColours& colours);
  QSize sizeHint() const override;

 protected:
  void paintEvent(QPaintEvent* event) override;

 private:
  bool loads_known_ = false;
  GpuColours colours_;
};

}  // namespace trainyard::gui
