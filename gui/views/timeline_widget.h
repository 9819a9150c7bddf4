// TimelineWidget: the timeline of plain values: rows to look at, keys and mouse to move about in them.
//
// W S zoom, A D pan, F centres and then fits what is selected, 0 fits all, . and , step through a row's slices, P pins
// the row; a drag selects an area, a click a slice, Ctrl and wheel zooms. It knows nothing of a session: setters in,
// signals out.
#pragma once

#include <QAbstractScrollArea>
#include <QPoint>
#include <QString>
#include <memory>
#include <optional>
#include <set>
#include <vector>

#include "gui/paint/timeline_painter.h"

namespace trainyard::gui {

class TimelineWidget : public QAbstractScrollArea {
  Q_OBJECT

 public:
  explicit TimelineWidget(QWidget* parent = nullptr);

  void set_source(TimelineSource source);  // fits all
  const TimelineRows& rows() const { return *rows_; }

  const TimeView& view() const { return view_; }
  void set_view(const TimeView& view);
  TimeView limits() const;
  double row_height() const { return row_height_; }
  void set_row_height(double height);

  std::optional<SliceRef> selected() const { return selected_; }
  void select_slice(std::optional<SliceRef> slice, bool reveal);
  const std::optional<TimeArea>& area() const { return area_; }
  void select_area(const std::optional<TimeArea>& area);
  void show_area(const TimeArea& area);      // that another view has selected: no signal
  void mark_ranks(std::vector<Rank> ranks);  // that another view has selected

  const std::vector<std::size_t>& pinned() const { return pinned_; }
  void toggle_pin(std::size_t row);
  void toggle_role(RoleId role);  // its measured ranks in rows of their own, or folded

  // Slices that fit are outlined; returns how many.
  std::size_t search(const QString& text);
  std::size_t found() const { return found_.size(); }
  void go_to_found(int direction);  // 1: the next, -1: the one before

  void zoom(double factor);
  void pan(double share);
  void fit_all();
  void fit_selection();  // centres; a second time fits
  void step(int direction);

  TimelineFrame frame(QSize size, bool to_file) const;
  void paint_to(QPainter& painter, bool to_file);
  double last_frame_ms() const { return last_frame_ms_; }  // CPU time of this thread

 Q_SIGNALS:
  void slice_selected();
  void area_selected();
  void view_changed();
  void found_changed();

 protected:
  bool event(QEvent* event) override;
  bool viewportEvent(QEvent* event) override;
  void paintEvent(QPaintEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;
  void scrollContentsBy(int dx, int dy) override;
  void wheelEvent(QWheelEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  void mouseMoveEvent(QMouseEvent* event) override;
  void mouseReleaseEvent(QMouseEvent* event) override;
  void mouseDoubleClickEvent(QMouseEvent* event) override;
  void changeEvent(QEvent* event) override;

 private:
  double gutter(int width) const;
  double plot_width() const;
  RowLayout layout(int height) const;
  std::optional<SliceRef> slice_at(QPointF position) const;
  std::optional<std::size_t> row_at(QPointF position) const;
  double time_at(double x) const;
  void click(QPointF position);
  void click_gutter(QPointF position, std::size_t row);
  void drag_to(QPointF position);
  void reveal_row(std::size_t row);
  void update_scroll_bars();
  void forget_rows();
  void step_row(int direction);
  void toggle_ranks();  // of the selected row
  void measure_names();

  std::shared_ptr<const TimelineRows> rows_;
  std::set<RoleId> opened_;
  TimeView view_;
  double row_height_ = 34.0;
  double names_width_ = 0.0;
  std::vector<std::size_t> pinned_;
  std::optional<SliceRef> selected_;
  std::optional<TimeArea> area_;
  std::vector<Rank> ranks_;
  QString query_;
  std::vector<SliceRef> found_;
  bool centred_ = false;  // the next F fits
  std::optional<QPointF> pressed_;
  bool dragging_ = false;
  TimelinePainter painter_;
  double last_frame_ms_ = 0.0;
};

}  // namespace trainyard::gui
