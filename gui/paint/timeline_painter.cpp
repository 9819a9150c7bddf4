#include "gui/paint/timeline_painter.h"

#include <QFontMetricsF>
#include <QPainter>
#include <algorithm>
#include <cmath>
#include <cstring>

#include "gui/paint/hatch.h"
#include "gui/paint/slice_text.h"

namespace trainyard::gui {

namespace {

constexpr double kTickSpacing = 110.0;
constexpr int kShares = 16;
constexpr double kPalest = 0.3;        // opacity of a pixel that is hardly at work
constexpr int kHatchSpacing = 6;       // pixels
constexpr int kHatchedFrom = 5;        // pixels wide and high
constexpr double kLabelHeight = 13.0;  // rows from here on have text
constexpr double kDetailHeight = 30.0;
constexpr float kHatchOpacity = 0.35F;

double inset(double height) { return height > 8.0 ? 2.0 : height > 3.0 ? 1.0 : 0.0; }

double opacity(float share) { return kPalest + (1.0 - kPalest) * static_cast<double>(share); }

// On the grid of hatch_lines: points of the plot whose x, y, sum or difference is a multiple of the spacing.
bool on_hatch(Hatch hatch, int x, int y, int spacing) {
  switch (hatch) {
    case Hatch::kNone:
      return false;
    case Hatch::kRising:
      return (x + y) % spacing == 0;
    case Hatch::kFalling:
      return (x - y) % spacing == 0;
    case Hatch::kHorizontal:
      return y % spacing == 0;
    case Hatch::kVertical:
      return x % spacing == 0;
    case Hatch::kCrossed:
      return (x + y) % spacing == 0 || (x - y) % spacing == 0;
    case Hatch::kGrid:
      return x % spacing == 0 || y % spacing == 0;
  }
  return false;
}

QRgb mixed(QRgb base, const QColor& over, float part) {
  const auto mix = [part](int a, int b) {
    return static_cast<int>(std::lround((1.0F - part) * static_cast<float>(a) + part * static_cast<float>(b)));
  };
  return qRgba(mix(qRed(base), over.red()), mix(qGreen(base), over.green()), mix(qBlue(base), over.blue()), 255);
}

bool holds_any(const std::vector<Rank>& selected, const TimelineRows& rows, std::size_t row) {
  if (selected.empty()) {
    return false;
  }
  const TimelineRow& of = rows.rows()[row];
  if (of.stands == 1 || !rows.source().program) {
    return std::binary_search(selected.begin(), selected.end(), of.rank);
  }
  const std::vector<Binding>& bindings = rows.source().program->bindings;
  return std::any_of(selected.begin(), selected.end(),
                     [&](Rank rank) { return rank.at() < bindings.size() && bindings[rank.at()].role == of.role; });
}

}  // namespace

Category kind_category(const Theme& theme, InstructionKind kind) {
  const auto colour = [&](std::size_t index, Hatch hatch) { return Category{theme.colours.at(index), hatch}; };
  switch (kind) {
    case InstructionKind::kForward:
      return colour(0, Hatch::kNone);
    case InstructionKind::kBackwardInput:
      return colour(2, Hatch::kNone);
    case InstructionKind::kBackwardWeight:
      return colour(4, Hatch::kNone);
    case InstructionKind::kRecompute:
      return colour(0, Hatch::kHorizontal);
    case InstructionKind::kGather:
      return colour(3, Hatch::kRising);
    case InstructionKind::kFree:
      return colour(6, Hatch::kNone);
    case InstructionKind::kReduce:
      return colour(1, Hatch::kFalling);
    case InstructionKind::kAllToAll:
      return colour(5, Hatch::kCrossed);
    case InstructionKind::kSend:
      return colour(5, Hatch::kRising);
    case InstructionKind::kRecv:
      return colour(6, Hatch::kFalling);
    case InstructionKind::kGradientNorm:
      return colour(6, Hatch::kHorizontal);
    case InstructionKind::kNormReduce:
      return colour(1, Hatch::kGrid);
    case InstructionKind::kOptimizer:
      return colour(5, Hatch::kNone);
    case InstructionKind::kSnapshot:
      return colour(3, Hatch::kVertical);
    case InstructionKind::kOffload:
      return colour(3, Hatch::kGrid);
  }
  return colour(6, Hatch::kNone);
}

RowLayout place_rows(const TimelineRows& rows, const std::vector<std::size_t>& pinned, double row_height, double scroll,
                     double height) {
  RowLayout layout;
  double y = kTimelineAxis;
  for (const std::size_t row : pinned) {
    if (row < rows.rows().size() && y < height) {
      layout.places.push_back({row, y, row_height, true, false});
      y += row_height;
    }
  }
  layout.pinned_bottom = y + (pinned.empty() ? 0.0 : 3.0);
  layout.content = row_height * static_cast<double>(rows.rows().size());
  double top = layout.pinned_bottom - scroll;
  const auto first = static_cast<std::size_t>(std::max(0.0, std::floor(scroll / row_height)));
  top += static_cast<double>(first) * row_height;
  for (std::size_t row = first; row < rows.rows().size() && top < height; ++row, top += row_height) {
    const bool opens = row == 0 || rows.rows()[row].role != rows.rows()[row - 1].role;
    layout.places.push_back({row, top, row_height, false, opens});
  }
  return layout;
}

const RowPlace* place_at(const RowLayout& layout, double y) {
  for (const RowPlace& place : layout.places) {
    if (y >= place.top && y < place.top + place.height && (place.pinned || y >= layout.pinned_bottom)) {
      return &place;
    }
  }
  return nullptr;
}

void TimelinePainter::set_shades(const TimelineFrame& frame) {
  for (std::size_t kind = 0; kind < shades_.size(); ++kind) {
    const QColor colour = kind_category(frame.theme, static_cast<InstructionKind>(kind)).colour;
    for (int share = 0; share <= kShares; ++share) {
      const double part = opacity(static_cast<float>(share) / static_cast<float>(kShares));
      shades_[kind][static_cast<std::size_t>(share)] =
          mixed(frame.theme.background.rgb(), colour, static_cast<float>(part));
    }
  }
  if (label_font_ != frame.font) {
    label_font_ = frame.font;
    labels_.clear();
  }
}

void TimelinePainter::paint(QPainter& painter, const TimelineFrame& frame) {
  if (frame.rows == nullptr || frame.plot_width() < 1.0) {
    return;
  }
  painter.setFont(frame.font);
  painter.setRenderHint(QPainter::Antialiasing, false);
  set_shades(frame);
  draw_background(painter, frame);
  draw_slices(painter, frame);
  draw_marks(painter, frame);
  draw_area(painter, frame);
  draw_gutter(painter, frame);
  draw_axis(painter, frame);
}

void TimelinePainter::draw_background(QPainter& painter, const TimelineFrame& frame) const {
  painter.fillRect(QRectF(QPointF(0, 0), QSizeF(frame.size)), frame.theme.background);
  painter.setPen(QPen(frame.theme.grid, 1.0));
  for (const TimeTick& tick : time_ticks(frame.view, frame.plot_width(), kTickSpacing)) {
    const double x = std::floor(frame.x_of(tick.time)) + 0.5;
    painter.drawLine(QPointF(x, kTimelineAxis), QPointF(x, frame.size.height()));
  }
}

void TimelinePainter::draw_slices(QPainter& painter, const TimelineFrame& frame) {
  const int width = static_cast<int>(frame.plot_width() * frame.pixel_ratio);
  const int height = static_cast<int>(static_cast<double>(frame.size.height()) * frame.pixel_ratio);
  if (!frame.to_file) {
    if (image_.width() != width || image_.height() != height) {
      image_ = QImage(width, height, QImage::Format_ARGB32_Premultiplied);
    }
    image_.fill(Qt::transparent);
    image_.setDevicePixelRatio(frame.pixel_ratio);
  }
  runs_.resize(frame.layout.places.size());
  for (std::size_t i = 0; i < runs_.size(); ++i) {
    runs_[i].clear();
    frame.rows->rows()[frame.layout.places[i].row].pyramid->add_runs(frame.view, width, runs_[i]);
  }
  // Pinned rows come first in the layout but lie on top of those that scroll under them.
  if (!frame.to_file) {
    for (const bool pinned : {false, true}) {
      for (std::size_t i = 0; i < runs_.size(); ++i) {
        if (frame.layout.places[i].pinned == pinned) {
          fill_scanlines(frame, i);
        }
      }
    }
    painter.drawImage(QPointF(frame.gutter, 0.0), image_);
  }
  painter.save();
  for (const bool pinned : {false, true}) {
    const double top = pinned ? kTimelineAxis : frame.layout.pinned_bottom;
    painter.setClipRect(QRectF(frame.gutter, top, frame.plot_width(), frame.size.height() - top));
    for (std::size_t i = 0; i < runs_.size(); ++i) {
      if (frame.layout.places[i].pinned != pinned) {
        continue;
      }
      if (frame.to_file) {
        draw_rectangles(painter, frame, i);
      }
      draw_labels(painter, frame, i);
    }
  }
  painter.restore();
}

void TimelinePainter::draw_rectangles(QPainter& painter, const TimelineFrame& frame, std::size_t index) const {
  const RowPlace& place = frame.layout.places[index];
  const double margin = inset(place.height);
  for (const PixelRun& run : runs_[index]) {
    const Category category = kind_category(frame.theme, run.kind);
    const QRectF area(frame.gutter + run.left, place.top + margin, run.right - run.left,
                      std::max(place.height - 2.0 * margin, 1.0));
    painter.fillRect(area, QColor(shades_[static_cast<std::size_t>(run.kind)][run.sixteenths]));
    if (run.right - run.left < kHatchedFrom || area.height() < kHatchedFrom) {
      continue;
    }
    QColor ink = readable_on(category.colour);
    ink.setAlphaF(kHatchOpacity);
    painter.setPen(QPen(ink, 1.0));
    const std::vector<QLineF> lines = hatch_lines(area, category.hatch, kHatchSpacing);
    painter.drawLines(lines.data(), static_cast<int>(lines.size()));
  }
}

void TimelinePainter::fill_scanlines(const TimelineFrame& frame, std::size_t index) {
  const RowPlace& place = frame.layout.places[index];
  const std::vector<PixelRun>& runs = runs_[index];
  const double ratio = frame.pixel_ratio;
  const double margin = inset(place.height);
  const double above = place.pinned ? kTimelineAxis : frame.layout.pinned_bottom;
  const int top = static_cast<int>(std::max(place.top + margin, above) * ratio);
  const int bottom =
      std::min(static_cast<int>((place.top + std::max(place.height - margin, margin + 1.0)) * ratio), image_.height());
  if (runs.empty() || top >= bottom) {
    return;
  }
  auto* first = reinterpret_cast<QRgb*>(image_.scanLine(top));
  for (const PixelRun& run : runs) {
    std::fill(first + run.left, first + run.right, shades_[static_cast<std::size_t>(run.kind)][run.sixteenths]);
  }
  const int left = runs.front().left;
  const auto bytes = sizeof(QRgb) * static_cast<std::size_t>(runs.back().right - left);
  for (int y = top + 1; y < bottom; ++y) {
    std::memcpy(reinterpret_cast<QRgb*>(image_.scanLine(y)) + left, first + left, bytes);
  }
  if (bottom - top < kHatchedFrom) {
    return;
  }
  for (const PixelRun& run : runs) {
    if (run.right - run.left >= kHatchedFrom) {
      hatch_scanlines(frame, run, top, bottom);
    }
  }
}

void TimelinePainter::hatch_scanlines(const TimelineFrame& frame, const PixelRun& run, int top, int bottom) {
  const Category category = kind_category(frame.theme, run.kind);
  if (category.hatch == Hatch::kNone) {
    return;
  }
  const QRgb ink =
      mixed(shades_[static_cast<std::size_t>(run.kind)][run.sixteenths], readable_on(category.colour), kHatchOpacity);
  const int spacing = static_cast<int>(kHatchSpacing * frame.pixel_ratio);
  const int gutter = static_cast<int>(frame.gutter * frame.pixel_ratio);
  for (int y = top; y < bottom; ++y) {
    auto* line = reinterpret_cast<QRgb*>(image_.scanLine(y));
    for (int x = run.left; x < run.right; ++x) {
      if (on_hatch(category.hatch, x + gutter, y, spacing)) {
        line[x] = ink;
      }
    }
  }
}

const QStaticText& TimelinePainter::label(const Slice& slice, const QFont& font) {
  auto& entry = labels_[{static_cast<int>(slice.kind), slice.microbatch.value_or(-1)}];
  if (entry.second == 0.0) {
    entry.first.setText(QString::fromStdString(slice_label(slice)));
    entry.first.setTextFormat(Qt::PlainText);
    entry.first.prepare({}, font);
    entry.second = entry.first.size().width();
  }
  return entry.first;
}

void TimelinePainter::draw_labels(QPainter& painter, const TimelineFrame& frame, std::size_t index) {
  const RowPlace& place = frame.layout.places[index];
  const std::vector<PixelRun>& runs = runs_[index];
  if (place.height < kLabelHeight) {
    return;
  }
  const QFontMetricsF metrics(frame.font);
  for (const PixelRun& run : runs) {
    const double width = (run.right - run.left) / frame.pixel_ratio;
    if (run.mark == PixelRun::kSeveral || width < 14.0) {
      continue;
    }
    const SliceRef ref = {place.row, static_cast<std::size_t>(run.mark)};
    const Slice& slice = frame.rows->slice(ref);
    const QColor colour = kind_category(frame.theme, run.kind).colour;
    const double left = frame.gutter + run.left / frame.pixel_ratio;
    painter.setPen(readable_on(colour));
    const QStaticText& text = label(slice, frame.font);
    if (width > 150.0) {  // few: room for the whole name
      const QString name = QString::fromStdString(slice_name(slice));
      painter.drawText(QRectF(left + 4.0, place.top, width - 8.0, place.height), Qt::AlignCenter,
                       metrics.elidedText(name, Qt::ElideRight, width - 8.0));
    } else if (text.size().width() + 4.0 < width) {
      painter.drawStaticText(
          QPointF(left + (width - text.size().width()) / 2.0, place.top + (place.height - text.size().height()) / 2.0),
          text);
    }
  }
  // Slices that touch are told apart by an edge.
  painter.setPen(QPen(frame.theme.background, 1.0));
  for (std::size_t i = 1; i < runs.size(); ++i) {
    if (runs[i].left == runs[i - 1].right && runs[i].mark != PixelRun::kSeveral && runs[i].right - runs[i].left > 6) {
      const double x = std::floor(frame.gutter + runs[i].left / frame.pixel_ratio) + 0.5;
      painter.drawLine(QPointF(x, place.top + 2.0), QPointF(x, place.top + place.height - 3.0));
    }
  }
}

void TimelinePainter::draw_marks(QPainter& painter, const TimelineFrame& frame) const {
  painter.save();
  const auto outline = [&](SliceRef ref, const QColor& colour, double width) {
    const Mark& mark = frame.rows->mark(ref);
    for (const RowPlace& place : frame.layout.places) {
      if (place.row != ref.row || (!place.pinned && place.top + place.height <= frame.layout.pinned_bottom)) {
        continue;
      }
      const double left = std::max(frame.x_of(static_cast<double>(mark.begin)), frame.gutter - 4.0);
      const double right =
          std::min(frame.x_of(static_cast<double>(mark.end)), static_cast<double>(frame.size.width()) + 4.0);
      QPen pen(colour, width);
      pen.setJoinStyle(Qt::MiterJoin);
      painter.setPen(pen);
      painter.setBrush(Qt::NoBrush);
      painter.drawRect(QRectF(left, place.top + 1.0, std::max(right - left, 2.0), place.height - 2.0));
    }
  };
  const double top = kTimelineAxis;
  painter.setClipRect(QRectF(frame.gutter, top, frame.plot_width(), frame.size.height() - top));
  const auto begin = static_cast<Nanoseconds>(frame.view.begin);
  const auto first = std::partition_point(frame.found.begin(), frame.found.end(),
                                          [&](const SliceRef& ref) { return frame.rows->mark(ref).begin < begin; });
  double last_x = -10.0;
  for (auto it = first; it != frame.found.end(); ++it) {
    const auto time = static_cast<double>(frame.rows->mark(*it).begin);
    if (time > frame.view.end) {
      break;
    }
    if (frame.x_of(time) - last_x >= 0.5) {
      outline(*it, frame.theme.warning, 2.0);
      last_x = frame.x_of(time);
    }
  }
  if (frame.selected) {
    outline(*frame.selected, frame.theme.text, 2.0);
  }
  painter.restore();
}

void TimelinePainter::draw_area(QPainter& painter, const TimelineFrame& frame) const {
  if (!frame.area) {
    return;
  }
  const double left = std::clamp(frame.x_of(frame.area->begin), frame.gutter, static_cast<double>(frame.size.width()));
  const double right = std::clamp(frame.x_of(frame.area->end), frame.gutter, static_cast<double>(frame.size.width()));
  QColor veil = frame.theme.selection;
  veil.setAlphaF(0.14F);
  painter.fillRect(QRectF(left, kTimelineAxis, right - left, frame.size.height() - kTimelineAxis), veil);
  painter.setPen(QPen(frame.theme.selection, 1.0));
  for (const double x : {left, right}) {
    painter.drawLine(QPointF(x, 0.0), QPointF(x, frame.size.height()));
  }
  for (const RowPlace& place : frame.layout.places) {
    if (place.row >= frame.area->first_row && place.row <= frame.area->last_row && !place.pinned) {
      QColor row_veil = frame.theme.selection;
      row_veil.setAlphaF(0.12F);
      const double top = std::max(place.top, frame.layout.pinned_bottom);
      painter.fillRect(QRectF(left, top, right - left, place.top + place.height - top), row_veil);
    }
  }
}

void TimelinePainter::draw_gutter(QPainter& painter, const TimelineFrame& frame) const {
  painter.save();
  painter.fillRect(QRectF(0, 0, frame.gutter, frame.size.height()), frame.theme.raised);
  const QFontMetricsF metrics(frame.font);
  for (const bool pinned : {false, true}) {
    const double above = pinned ? kTimelineAxis : frame.layout.pinned_bottom;
    painter.setClipRect(QRectF(0, above, frame.size.width(), frame.size.height() - above));
    for (const RowPlace& place : frame.layout.places) {
      if (place.pinned != pinned) {
        continue;
      }
      if (place.opens_stage) {
        painter.setPen(QPen(frame.theme.axis, 1.0));
        painter.drawLine(QPointF(0, place.top), QPointF(frame.size.width(), place.top));
      }
      if (holds_any(frame.ranks, *frame.rows, place.row)) {
        painter.fillRect(QRectF(0, place.top, 4.0, place.height), frame.theme.selection);
      }
      if (place.height < kLabelHeight) {
        if (place.opens_stage) {
          painter.setPen(frame.theme.text);
          painter.drawText(QPointF(8.0, place.top + metrics.ascent()),
                           QString::fromStdString(row_name(*frame.rows, place.row)));
        }
        continue;
      }
      const TimelineRow& row = frame.rows->rows()[place.row];
      const QString name = QString::fromStdString(row_name(*frame.rows, place.row));
      const QString detail = QString::fromStdString(row_detail(*frame.rows, place.row));
      const double room = frame.gutter - 34.0;
      painter.setPen(frame.theme.text);
      if (place.height >= kDetailHeight) {
        const double middle = place.top + place.height / 2.0;
        painter.drawText(QRectF(8.0, middle - metrics.height(), room, metrics.height()), Qt::AlignVCenter,
                         metrics.elidedText(name, Qt::ElideRight, room));
        painter.setPen(frame.theme.muted);
        painter.drawText(QRectF(8.0, middle, room, metrics.height()), Qt::AlignVCenter,
                         metrics.elidedText(detail, Qt::ElideRight, room));
      } else {
        painter.drawText(QRectF(8.0, place.top, room, place.height), Qt::AlignVCenter,
                         metrics.elidedText(name + (row.measured ? QStringLiteral(" (measured)") : QString()),
                                            Qt::ElideRight, room));
      }
      // A pin, filled where pinned; a fold mark before it where ranks can be opened.
      const QPointF pin(frame.gutter - 12.0, place.top + place.height / 2.0);
      painter.setPen(QPen(pinned ? frame.theme.selection : frame.theme.axis, 1.0));
      painter.setBrush(pinned ? QBrush(frame.theme.selection) : QBrush(Qt::NoBrush));
      painter.drawEllipse(pin, 3.5, 3.5);
      painter.setBrush(Qt::NoBrush);
      if (row.foldable && row.stream == Stream::kCompute) {
        painter.setPen(frame.theme.text);
        painter.drawText(QRectF(frame.gutter - 30.0, place.top, 12.0, place.height), Qt::AlignCenter,
                         row.stands > 1 ? QStringLiteral("+") : QStringLiteral("-"));
      }
    }
  }
  painter.restore();
  painter.setPen(QPen(frame.theme.axis, 1.0));
  if (frame.layout.pinned_bottom > kTimelineAxis) {
    const double y = frame.layout.pinned_bottom - 1.5;
    painter.drawLine(QPointF(0, y), QPointF(frame.size.width(), y));
  }
  painter.drawLine(QPointF(frame.gutter - 0.5, 0), QPointF(frame.gutter - 0.5, frame.size.height()));
}

void TimelinePainter::draw_axis(QPainter& painter, const TimelineFrame& frame) const {
  painter.fillRect(QRectF(0, 0, frame.size.width(), kTimelineAxis), frame.theme.raised);
  const QFontMetricsF metrics(frame.font);
  painter.setPen(frame.theme.muted);
  painter.drawText(QRectF(8.0, 0.0, frame.gutter - 12.0, kTimelineAxis), Qt::AlignVCenter,
                   metrics.elidedText(QStringLiteral("time into the step"), Qt::ElideRight, frame.gutter - 16.0));
  for (const TimeTick& tick : time_ticks(frame.view, frame.plot_width(), kTickSpacing)) {
    const double x = std::floor(frame.x_of(tick.time)) + 0.5;
    painter.setPen(QPen(frame.theme.axis, 1.0));
    painter.drawLine(QPointF(x, kTimelineAxis - 5.0), QPointF(x, kTimelineAxis));
    painter.setPen(frame.theme.text);
    const QString text = QString::fromStdString(tick.label);
    const double width = metrics.horizontalAdvance(text);
    if (x + 4.0 + width < frame.size.width()) {
      painter.drawText(QPointF(x + 4.0, kTimelineAxis - 7.0), text);
    }
  }
  painter.setPen(QPen(frame.theme.axis, 1.0));
  painter.drawLine(QPointF(0, kTimelineAxis - 0.5), QPointF(frame.size.width(), kTimelineAxis - 0.5));
}

}  // namespace trainyard::gui
