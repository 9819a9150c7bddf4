// AreaChart: amounts by cause, stacked, over time, as steps: each moment holds until the next. Against a limit where
// there is one; what lies above it is marked. A drag selects a span of time.
#pragma once

#include <QString>
#include <optional>
#include <utility>
#include <vector>

#include "gui/paint/axis.h"
#include "gui/paint/chart.h"
#include "gui/paint/legend.h"
#include "gui/paint/plot_frame.h"

namespace trainyard::gui {

struct AreaMoment {
  double at = 0.0;
  std::vector<double> amounts;  // one a cause
};

struct AreaPlot {
  QString title;
  Axis x;
  Axis y;
  std::vector<LegendEntry> causes;  // bottom first
  std::vector<AreaMoment> moments;  // by time; the last ends the one before
  std::optional<double> limit;
  QString limit_name;
};

class AreaChart : public Chart {
  Q_OBJECT

 public:
  explicit AreaChart(const QString& accessible_name, QWidget* parent = nullptr);

  void set_plot(AreaPlot plot);
  const AreaPlot& plot() const { return plot_; }
  void set_span(std::optional<std::pair<double, double>> span);
  bool is_empty() const override { return plot_.moments.size() < 2; }
  QSize sizeHint() const override { return {600, 360}; }
  QSize minimumSizeHint() const override { return {300, 180}; }

 Q_SIGNALS:
  void span_dragged(double from, double to);
  void span_cleared();

 protected:
  void draw(QPainter& painter, const QRectF& area, const Theme& theme, Spots& spots) const override;
  void mousePressEvent(QMouseEvent* event) override;
  void mouseMoveEvent(QMouseEvent* event) override;
  void mouseReleaseEvent(QMouseEvent* event) override;
  bool event(QEvent* event) override;

 private:
  // The moment of the most in each column of pixels: what a narrow peak needs to be seen.
  std::vector<const AreaMoment*> columns(const PlotFrame& frame) const;
  void draw_stack(QPainter& painter, const PlotFrame& frame, const std::vector<const AreaMoment*>& shown) const;
  QString tip_at(double at) const;

  AreaPlot plot_;
  std::optional<std::pair<double, double>> span_;
  mutable PlotFrame frame_;  // of the last painting on the screen
  std::optional<double> drag_;
};

// Sum of a moment's amounts.
double total(const AreaMoment& moment);
// The moment that holds at a time; null before the first.
const AreaMoment* moment_at(const std::vector<AreaMoment>& moments, double at);

}  // namespace trainyard::gui
