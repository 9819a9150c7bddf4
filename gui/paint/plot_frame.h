// PlotFrame: two axes with marks, labels, titles and grid, around the rectangle in which values are drawn.
#pragma once

#include <QPointF>
#include <QRectF>
#include <QString>

#include "gui/paint/axis.h"
#include "gui/paint/theme.h"

class QPainter;

namespace trainyard::gui {

struct PlotFrame {
  Axis x;
  Axis y;
  QRectF plot;  // inside the axes

  QPointF place(double x_value, double y_value) const {
    return {plot.left() + x.share(x_value) * plot.width(), plot.bottom() - y.share(y_value) * plot.height()};
  }
  double x_at(double place) const { return x.value((place - plot.left()) / plot.width()); }
  double y_at(double place) const { return y.value((plot.bottom() - place) / plot.height()); }
};

// Draws title (bold, may be empty), axes and grid into the area.
PlotFrame draw_plot_frame(QPainter& painter, const QRectF& area, const Theme& theme, const QString& title,
                          const Axis& x, const Axis& y);

// A title line as all charts have it; what is left of the area below.
QRectF draw_title(QPainter& painter, const QRectF& area, const Theme& theme, const QString& title);

}  // namespace trainyard::gui
