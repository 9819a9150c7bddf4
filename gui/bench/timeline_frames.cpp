#include <fmt/format.h>

#include <QApplication>

#include "gui/bench/frames.h"
#include "gui/bench/synthetic_step.h"
#include "gui/views/timeline_widget.h"

namespace trainyard::gui {

namespace {

constexpr std::int64_t kRanks = 128;  // on two streams
constexpr double kZoom = 1.12;
constexpr double kClosest = 2e3;  // ns

void draw(TimelineWidget& widget, FrameTimes& frames) {
  widget.viewport()->repaint();
  frames.ms.push_back(widget.last_frame_ms());
}

FrameTimes zooms_and_pans(TimelineWidget& widget, const std::string& what) {
  FrameTimes frames;
  frames.name = "timeline";
  frames.what = what;
  widget.fit_all();
  widget.viewport()->repaint();  // the first frame makes its picture
  while (widget.view().span() > kClosest) {
    widget.zoom(kZoom);
    draw(widget, frames);
    widget.pan(0.1);
    draw(widget, frames);
  }
  while (widget.view().span() < widget.limits().span()) {
    widget.zoom(1.0 / kZoom);
    draw(widget, frames);
    widget.pan(-0.1);
    draw(widget, frames);
  }
  return frames;
}

}  // namespace

std::vector<FrameTimes> timeline_frames(std::int64_t slices) {
  TimelineWidget widget;
  widget.resize(1600, 900);
  widget.set_source(synthetic_step(kRanks, slices / kRanks));
  widget.show();
  QApplication::processEvents();
  const std::string what = fmt::format("{} slices in {} rows", widget.rows().slices(), widget.rows().rows().size());
  std::vector<FrameTimes> all;
  widget.set_row_height(3.0);
  all.push_back(zooms_and_pans(widget, what + ", all rows in view"));
  widget.set_row_height(34.0);
  all.push_back(zooms_and_pans(widget, what + ", rows with labels"));
  return all;
}

}  // namespace trainyard::gui
