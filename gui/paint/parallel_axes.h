// ParallelAxes: many plans over many columns: an upright axis a column, a line a plan. Dragging along an axis brushes a
// range; brushes combine; a click on a brushed axis takes its brush off. Dragging an axis' name moves the axis, a click
// on it colours the lines by it. A click on a line selects its plan.
//
// Lines that pass every brush are coloured, the others pale behind them. Both layers are images: a frame that only
// moves the pointer copies them, one that moves a brush paints the passing lines anew.
#pragma once

#include <QImage>
#include <QString>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "gui/paint/axis.h"
#include "gui/paint/chart.h"
#include "gui/paint/line_bundle.h"

namespace trainyard::gui {

struct ParallelAxis {
  QString name;
  QString tip;  // what it is, with unit
  Axis axis;
  std::vector<Tick> ticks;  // given: categories and degrees; else the axis' own
};

struct ParallelPlot {
  std::vector<ParallelAxis> axes;
  std::vector<std::vector<double>> values;  // by point, by axis; NaN: the line is interrupted
  std::vector<double> shades;               // by point, 0 to 1
  std::vector<char> passes;                 // by point
  bool shaded = true;                       // else all of one colour
  int shaded_by = -1;                       // the axis that shades are of; -1: something without one
};

using Brush = std::optional<std::pair<double, double>>;  // values, low to high

class ParallelAxes : public Chart {
  Q_OBJECT

 public:
  explicit ParallelAxes(const QString& accessible_name, QWidget* parent = nullptr);

  void set_plot(ParallelPlot plot);
  void set_passes(std::vector<char> passes);
  const ParallelPlot& plot() const { return plot_; }
  void set_brushes(std::vector<Brush> brushes);  // by axis
  const std::vector<Brush>& brushes() const { return brushes_; }
  // Axes from left to right, as places in plot().axes; all of them, each once.
  void set_order(std::vector<int> order);
  const std::vector<int>& order() const { return order_; }
  void set_selected(std::optional<int> point, std::optional<int> a, std::optional<int> b);
  void set_tip(std::function<QString(int)> tip) { tip_ = std::move(tip); }
  bool is_empty() const override { return plot_.values.empty() || plot_.axes.empty(); }
  QSize sizeHint() const override { return {900, 320}; }
  QSize minimumSizeHint() const override { return {360, 110}; }

  std::optional<int> point_at(const QPointF& place) const;
  QRectF axis_area(int axis) const;  // where drags brush it
  QRectF name_area(int axis) const;

 Q_SIGNALS:
  void brushed(int axis, double low, double high);
  void brush_removed(int axis);
  void order_changed();
  void shade_wanted(int axis);

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
  QRectF lines_area(const QRectF& area) const;
  double x_of(const QRectF& lines, int place) const;
  double y_of(const QRectF& lines, int axis, double value) const;
  // By axis, by point: pixels below the axes' top; -1: unknown.
  using Places = std::vector<std::vector<std::int16_t>>;
  Places places_of(const QRectF& lines, double scale) const;
  std::vector<BundledLine> lines_between(const Places& places, std::size_t gap, bool passing, int height) const;
  QColor colour_of(const Theme& theme, int shade, bool passing) const;
  void draw_lines(QPainter& painter, const QRectF& area, const Theme& theme, bool passing) const;
  void paint_lines(QImage& image, const Theme& theme, bool passing);
  void draw_axes(QPainter& painter, const QRectF& area, const Theme& theme) const;
  void draw_brushes(QPainter& painter, const QRectF& area, const Theme& theme) const;
  void draw_selected(QPainter& painter, const QRectF& area, const Theme& theme) const;
  void draw_line(QPainter& painter, const QRectF& lines, int point) const;
  void paint_layers(const Theme& theme);
  std::optional<int> axis_near(const QPointF& place) const;  // axis whose line is next
  void forget_layers();

  ParallelPlot plot_;
  std::vector<Brush> brushes_;
  std::vector<int> order_;
  std::optional<int> selected_, a_, b_;
  std::function<QString(int)> tip_;
  Places places_;   // on the screen
  QImage context_;  // lines that don't pass
  QImage passing_;
  std::optional<int> brushing_;  // axis
  std::optional<int> moving_;    // axis, by its name
  QPointF pressed_;
  bool dragged_ = false;
  int focused_ = 0;  // place of the axis that keys act on
};

}  // namespace trainyard::gui
