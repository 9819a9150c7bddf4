// BarRows: horizontal bars in rows with a name before and a value behind: the frame of waterfalls, differences and
// stacks. A bar runs from one value to another of a shared axis; a row has one or two, above each other.
#pragma once

#include <QRectF>
#include <QString>
#include <optional>
#include <vector>

#include "gui/paint/axis.h"
#include "gui/paint/chart.h"
#include "gui/paint/legend.h"

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
  std::vector<QString> values;          // behind each line
  bool emphasised = false;              // totals
  bool linked = false;                  // a thin line from the last end of the row before: a waterfall
  bool warns = false;                   // the value in the colour of what is wrong
};

class BarRows : public Chart {
  Q_OBJECT

 public:
  explicit BarRows(const QString& accessible_name, QWidget* parent = nullptr);

  // limit: a line across all rows, such as a capacity, with its name.
  void set_rows(const QString& title, const Axis& axis, std::vector<BarRow> rows);
  void set_legend(std::vector<LegendEntry> entries);
  void set_limit(std::optional<double> limit, const QString& name);
  // id of bars that stand out; -1: none.
  void set_selected(int id);

  bool is_empty() const override { return rows_.empty(); }
  const std::vector<BarRow>& rows() const { return rows_; }
  QSize sizeHint() const override;
  QSize minimumSizeHint() const override;

 protected:
  void draw(QPainter& painter, const QRectF& area, const Theme& theme, Spots& spots) const override;

 private:
  struct Frame;
  Frame frame_of(QPainter& painter, const QRectF& area, const Theme& theme) const;
  void draw_row(QPainter& painter, const Theme& theme, const Frame& frame, std::size_t index, Spots& spots) const;
  void draw_limit(QPainter& painter, const Theme& theme, const Frame& frame) const;
  int lines_of_rows() const;

  QString title_;
  Axis axis_;
  std::vector<BarRow> rows_;
  std::vector<LegendEntry> legend_;
  std::optional<double> limit_;
  QString limit_name_;
  int selected_ = -1;
};

}  // namespace trainyard::gui
