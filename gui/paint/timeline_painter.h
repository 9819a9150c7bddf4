// TimelinePainter: one frame of a timeline, on a window or into a file.
//
// On a window slices go into one picture of the plot, scanline by scanline, and only what is wide enough for a hatch,
// an edge or a label is drawn on top: a frame costs by its pixels, not by its slices. Into a file (SVG) the same runs
// are rectangles.
//
//   +--------------------+------------------------------+
//   |                    | axis: ticks                  |
//   | gutter: row names, | pinned rows                  |
//   | ranks, pins        | rows                         |
//   +--------------------+------------------------------+
#pragma once

#include <QColor>
#include <QFont>
#include <QImage>
#include <QRectF>
#include <QSize>
#include <QStaticText>
#include <array>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "gui/paint/theme.h"
#include "gui/paint/time_view.h"
#include "gui/paint/timeline_rows.h"

class QPainter;

namespace trainyard::gui {

// Colour and hatch of a kind: communication is hatched, compute is plain.
Category kind_category(const Theme& theme, InstructionKind kind);

struct RowPlace {
  std::size_t row = 0;
  double top = 0.0;
  double height = 0.0;
  bool pinned = false;
  bool opens_stage = false;  // first row of its stage among those that scroll
};

constexpr double kTimelineAxis = 24.0;  // height

// Rows that lie in a viewport of this height, pinned ones first. `scroll`: pixels that the others are moved up by.
struct RowLayout {
  std::vector<RowPlace> places;
  double pinned_bottom = kTimelineAxis;
  double content = 0.0;  // height of all rows that scroll
};
RowLayout place_rows(const TimelineRows& rows, const std::vector<std::size_t>& pinned, double row_height, double scroll,
                     double height);
const RowPlace* place_at(const RowLayout& layout, double y);

struct TimeArea {
  double begin = 0.0;  // ns
  double end = 0.0;
  std::size_t first_row = 0;
  std::size_t last_row = 0;
};

struct TimelineFrame {
  const TimelineRows* rows = nullptr;
  TimeView view;
  RowLayout layout;
  QSize size;
  double gutter = 0.0;  // width
  Theme theme;
  QFont font;
  double pixel_ratio = 1.0;  // device pixels a pixel
  bool to_file = false;
  std::optional<SliceRef> selected;
  std::optional<TimeArea> area;
  std::vector<SliceRef> found;  // by a search, by begin
  std::vector<Rank> ranks;      // selected; their rows are marked

  double plot_width() const { return static_cast<double>(size.width()) - gutter; }
  double x_of(double time) const { return gutter + gui::x_of(view, time, plot_width()); }
};

class TimelinePainter {
 public:
  void paint(QPainter& painter, const TimelineFrame& frame);

 private:
  using Shades = std::array<std::array<QRgb, 17>, kInstructionKinds>;

  void set_shades(const TimelineFrame& frame);
  void draw_background(QPainter& painter, const TimelineFrame& frame) const;
  void draw_slices(QPainter& painter, const TimelineFrame& frame);
  void draw_rectangles(QPainter& painter, const TimelineFrame& frame, std::size_t place) const;
  void fill_scanlines(const TimelineFrame& frame, std::size_t place);
  void hatch_scanlines(const TimelineFrame& frame, const PixelRun& run, int top, int bottom);
  void draw_labels(QPainter& painter, const TimelineFrame& frame, std::size_t place);
  void draw_marks(QPainter& painter, const TimelineFrame& frame) const;
  void draw_area(QPainter& painter, const TimelineFrame& frame) const;
  void draw_gutter(QPainter& painter, const TimelineFrame& frame) const;
  void draw_axis(QPainter& painter, const TimelineFrame& frame) const;
  const QStaticText& label(const Slice& slice, const QFont& font);

  QImage image_;
  Shades shades_ = {};
  QRgb ink_ = 0;
  std::vector<std::vector<PixelRun>> runs_;                               // by place in the layout
  std::map<std::pair<int, int>, std::pair<QStaticText, double>> labels_;  // by kind and micro-batch, with widths
  QFont label_font_;
};

}  // namespace trainyard::gui
