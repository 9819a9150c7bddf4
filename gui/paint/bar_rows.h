// BarRows: horizontal bars in rows with a name before and a value behind: the frame of waterfalls, differences and
// stacks. A bar runs from one value to another of a shared axis. A row may have a line of bars for each of two things
// that are compared: one above the other, their values beside each other under what each is called.
#pragma once

#include <QRectF>
#include <QString>
#include <optional>
#include <vector>

#include "gui/paint/axis.h"
#include "gui/paint/chart.h"
#include "gui/paint/legend.h"

class QFontMetricsF;

namespace trainyard::gui {

struct Bar {
  double from = 0.0;
  double to = 0.0;
  Category category;
  QString tip;
  int id = -1;
};

struct BarRow {
  QString name;
  std::vector<std::vector<Bar>> lines;  // each a row of bars; usually one
  std::vector<QString> values;          // a line's each
  std::vector<QString> shares;          // behind the values, where that leaves room for the bars
  bool emphasised = false;              // totals
  bool linked = false;                  // a thin line from the last end of the row before: a waterfall
  bool warns = false;                   // the value in the colour of what is wrong
};

class BarRows : public Chart {
  Q_OBJECT

 public:
  explicit BarRows(const QString& accessible_name, QWidget* parent = nullptr);

  // Above the values, where rows have several lines: what each line is of.
  void set_line_names(std::vector<QString> names);
  void set_rows(const QString& title, const Axis& axis, std::vector<BarRow> rows);
  void set_legend(std::vector<LegendEntry> entries);
  // A line across all rows where the axis has the value, with its name above: what bars should stay below.
  void set_limit(std::optional<double> limit, const QString& name);
  // id of bars that stand out; -1: none.
  void set_selected(int id);

  bool is_empty() const override { return rows_.empty(); }
  const std::vector<BarRow>& rows() const { return rows_; }
  QSize sizeHint() const override;
  QSize minimumSizeHint() const override;
  // How many rows are readable in this height, with the lines, legend and title as they are set.
  int rows_within(int height) const;

 protected:
  void draw(QPainter& painter, const QRectF& area, const Theme& theme, Spots& spots) const override;

 private:
  struct Frame;
  std::vector<double> widths_behind(const QFontMetricsF& metrics, const QFontMetricsF& bold, bool with_shares) const;
  Frame frame_of(QPainter& painter, const QRectF& area, const Theme& theme) const;
  void draw_row(QPainter& painter, const Theme& theme, const Frame& frame, std::size_t index, Spots& spots) const;
  void draw_line_names(QPainter& painter, const Theme& theme, const Frame& frame) const;
  void draw_limit(QPainter& painter, const Theme& theme, const Frame& frame) const;
  int lines_of_rows() const;
  double least_line() const;   // height
  double around_rows() const;  // height of all but the rows

  QString title_;
  Axis axis_;
  std::vector<BarRow> rows_;
  std::vector<QString> line_names_;
  std::vector<LegendEntry> legend_;
  std::optional<double> limit_;
  QString limit_name_;
  int selected_ = -1;
};

}  // namespace trainyard::gui
