// LineChart: lines over one axis, each with a band around it where its value is a range, marks of single places, and
// stretches of the x axis along the foot (what a month's time went to). Lines are told apart by colour, dashes and a
// name at their end.
#pragma once

#include <QPointF>
#include <QString>
#include <vector>

#include "gui/paint/axis.h"
#include "gui/paint/chart.h"
#include "gui/paint/legend.h"
#include "gui/paint/plot_frame.h"

namespace trainyard::gui {

struct LinePoint {
  double x = 0.0;
  double y = 0.0;
  double low = 0.0;  // of the band; equal to y: none
  double high = 0.0;
};

struct Line {
  QString name;
  std::vector<LinePoint> points;  // by x
  QColor colour;
  bool dashed = false;
  bool marked = false;  // a dot at each point
};

struct LineMark {
  double x = 0.0;
  double y = 0.0;
  QString name;
  double low = 0.0;  // of a range around y; equal: none
  double high = 0.0;
  QString tip = {};  // empty: the name
};

struct Stretch {
  double from = 0.0;
  double to = 0.0;
  Category category;
  QString tip;
};

// A shaded range of x, such as the intervals that cost little.
struct Shade {
  double from = 0.0;
  double to = 0.0;
  QString name;
};

struct LinePlot {
  QString title;
  Axis x;
  Axis y;
  std::vector<Line> lines;
  std::vector<LineMark> marks;
  std::vector<Stretch> stretches;
  std::vector<Shade> shades;
  std::vector<LegendEntry> legend;
};

class LineChart : public Chart {
  Q_OBJECT

 public:
  explicit LineChart(const QString& accessible_name, QWidget* parent = nullptr);

  void set_plot(LinePlot plot);
  const LinePlot& plot() const { return plot_; }
  bool is_empty() const override { return plot_.lines.empty(); }
  QSize sizeHint() const override { return {460, 260}; }
  QSize minimumSizeHint() const override { return {240, 170}; }

 protected:
  void draw(QPainter& painter, const QRectF& area, const Theme& theme, Spots& spots) const override;

 private:
  void draw_line(QPainter& painter, const PlotFrame& frame, const Theme& theme, const Line& line, Spots& spots) const;
  void draw_marks(QPainter& painter, const PlotFrame& frame, const Theme& theme, Spots& spots) const;
  void draw_stretches(QPainter& painter, const PlotFrame& frame, Spots& spots) const;
  void draw_shades(QPainter& painter, const PlotFrame& frame, const Theme& theme, Spots& spots) const;

  LinePlot plot_;
};

}  // namespace trainyard::gui
