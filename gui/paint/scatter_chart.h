// ScatterChart: two results of many plans against each other, coloured by a third; the front of those that no other
// beats in both is drawn through. A click selects a point, a drag draws a lasso around some, with Shift a rectangle.
//
// Points are painted into an image once per change of data, size or theme: ten thousand take about a millisecond, and
// moving over them costs a copy.
#pragma once

#include <QImage>
#include <QPolygonF>
#include <QString>
#include <functional>
#include <optional>
#include <vector>

#include "gui/paint/axis.h"
#include "gui/paint/chart.h"
#include "gui/paint/plot_frame.h"

namespace trainyard::gui {

struct ScatterPoint {
  double x = 0.0;  // not finite: the point isn't drawn
  double y = 0.0;
  double shade = 0.0;   // 0 to 1, by the ramp
  bool passes = true;   // the filters
  bool marked = false;  // starred: a ring
};

struct ScatterPlot {
  QString title;
  Axis x;
  Axis y;
  bool shaded = true;  // by the ramp; else all of one colour
  std::vector<ScatterPoint> points;
  std::vector<int> front;  // by x
};

// The points that no other beats, smaller being better, or larger where told; by x. Only those that pass.
std::vector<int> pareto_front(const std::vector<ScatterPoint>& points, bool larger_x, bool larger_y);

class ScatterChart : public Chart {
  Q_OBJECT

 public:
  explicit ScatterChart(const QString& accessible_name, QWidget* parent = nullptr);

  void set_plot(ScatterPlot plot);
  const ScatterPlot& plot() const { return plot_; }
  // The front is found anew among those that pass.
  void set_passes(const std::vector<char>& passes, bool larger_x, bool larger_y);
  void set_selected(std::optional<int> point, std::optional<int> a, std::optional<int> b);
  // A lasso that holds: drawn around what it encloses. In the axes' values; empty: none.
  void set_lasso(QPolygonF corners);
  const QPolygonF& lasso() const { return lasso_; }
  // What the tooltip of a point says; set by who knows what it stands for.
  void set_tip(std::function<QString(int)> tip) { tip_ = std::move(tip); }
  bool is_empty() const override { return plot_.points.empty(); }
  QSize sizeHint() const override { return {460, 320}; }
  QSize minimumSizeHint() const override { return {260, 110}; }

  // The drawn point next to a place of the widget, within a few pixels.
  std::optional<int> point_at(const QPointF& place) const;

 Q_SIGNALS:
  // Corners of the lasso, in the axes' values.
  void lassoed(const QPolygonF& corners);
  // Sides of the rectangle, in the axes' values.
  void brushed(double x_low, double x_high, double y_low, double y_high);

 protected:
  void draw(QPainter& painter, const QRectF& area, const Theme& theme, Spots& spots) const override;
  void paintEvent(QPaintEvent* event) override;
  bool event(QEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  void mouseMoveEvent(QMouseEvent* event) override;
  void mouseReleaseEvent(QMouseEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;
  void changeEvent(QEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;

 private:
  void draw_plot(QPainter& painter, const QRectF& area, const Theme& theme, bool with_points) const;
  void draw_points(QPainter& painter, const PlotFrame& frame, const Theme& theme) const;
  void stamp_points(QImage& image, const PlotFrame& frame, const Theme& theme) const;
  void paint_image(const Theme& theme);
  void draw_marked(QPainter& painter, const PlotFrame& frame, const Theme& theme) const;
  void draw_front(QPainter& painter, const PlotFrame& frame, const Theme& theme) const;
  void draw_selected(QPainter& painter, const PlotFrame& frame, const Theme& theme) const;
  void draw_lasso(QPainter& painter, const PlotFrame& frame, const Theme& theme) const;
  void draw_brush(QPainter& painter, const Theme& theme) const;
  void finish_brush();

  ScatterPlot plot_;
  std::optional<int> selected_, a_, b_;
  std::function<QString(int)> tip_;
  mutable PlotFrame frame_;
  QImage image_;  // without selection and brush
  std::optional<QPointF> pressed_;
  QPolygonF lasso_;
  QPolygonF drawn_;  // under way, in pixels: a path, or a rectangle's two corners
  bool free_ = false;
};

}  // namespace trainyard::gui
