#include "gui/paint/bar_rows.h"

#include <QFontMetricsF>
#include <QPainter>
#include <algorithm>
#include <cmath>

#include "gui/paint/hatch.h"
#include "gui/paint/plot_frame.h"

namespace trainyard::gui {

namespace {

constexpr double kMargin = 10.0;
constexpr double kGap = 8.0;
constexpr double kThinnest = 2.0;  // of a bar: never nothing
constexpr double kMostNameShare = 0.34;
constexpr double kMostLine = 26.0;       // height
constexpr double kMostOfSeveral = 15.0;  // ...of a row's several
constexpr double kComfortable = 1.35;    // times the least
constexpr double kLeastBars = 140.0;     // width that shares leave

QString text_behind(const BarRow& row, std::size_t line, bool with_shares) {
  return with_shares && line < row.shares.size()
             ? QStringLiteral("%1 \u00b7 %2").arg(row.values[line], row.shares[line])
             : row.values[line];
}

}  // namespace

// Where everything is.
struct BarRows::Frame {
  double names_left = 0.0;
  double names_width = 0.0;
  QRectF bars;
  std::vector<double> values_widths;  // by line
  bool shares = true;                 // are shown
  double line = 0.0;                  // height
  std::vector<double> tops;

  double values_width() const {
    double width = 0.0;
    for (const double one : values_widths) {
      width += one + kGap;
    }
    return width;
  }
};

BarRows::BarRows(const QString& accessible_name, QWidget* parent) : Chart(accessible_name, parent) {}

void BarRows::set_rows(const QString& title, const Axis& axis, std::vector<BarRow> rows) {
  title_ = title;
  axis_ = axis;
  rows_ = std::move(rows);
  updateGeometry();
  update();
}

void BarRows::set_legend(std::vector<LegendEntry> entries) {
  legend_ = std::move(entries);
  updateGeometry();
  update();
}

void BarRows::set_line_names(std::vector<QString> names) {
  line_names_ = std::move(names);
  updateGeometry();
  update();
}

void BarRows::set_limit(std::optional<double> limit, const QString& name) {
  limit_ = limit;
  limit_name_ = name;
  update();
}

void BarRows::set_selected(int id) {
  selected_ = id;
  update();
}

int BarRows::lines_of_rows() const {
  int lines = 0;
  for (const BarRow& row : rows_) {
    lines += std::max(1, static_cast<int>(row.lines.size()));
  }
  return lines;
}

// Values of a row's lines stand beside each other, so that two thin bars need a line of text together.
double BarRows::least_line() const {
  return std::ceil(QFontMetricsF(font()).height() / static_cast<double>(std::max<std::size_t>(1, line_names_.size())));
}

double BarRows::around_rows() const {
  const QFontMetricsF metrics(font());
  const double legend = legend_height(metrics, legend_, std::max(300.0, width() - 2.0 * kMargin));
  const double title = title_.isEmpty() ? 0.0 : metrics.height() + kMargin;
  const double heads = limit_ || !line_names_.empty() ? metrics.height() : 0.0;
  return legend + title + heads + 2.0 * metrics.height() + kGap + kMargin;
}

int BarRows::rows_within(int height) const {
  const double row = least_line() * static_cast<double>(std::max<std::size_t>(1, line_names_.size()));
  return static_cast<int>((height - around_rows()) / row);
}

QSize BarRows::sizeHint() const {
  return {600, static_cast<int>(around_rows() + lines_of_rows() * kComfortable * least_line())};
}

QSize BarRows::minimumSizeHint() const {
  return {300, static_cast<int>(around_rows() + lines_of_rows() * least_line())};
}

std::vector<double> BarRows::widths_behind(const QFontMetricsF& metrics, const QFontMetricsF& bold,
                                           bool with_shares) const {
  std::vector<double> widths;
  for (const QString& name : line_names_) {
    widths.push_back(bold.horizontalAdvance(name) + 2.0);
  }
  for (const BarRow& row : rows_) {
    widths.resize(std::max(widths.size(), row.values.size()));
    for (std::size_t line = 0; line < row.values.size(); ++line) {
      const QString text = text_behind(row, line, with_shares);
      widths[line] = std::max(widths[line], (row.emphasised ? bold : metrics).horizontalAdvance(text) + 2.0);
    }
  }
  return widths;
}

BarRows::Frame BarRows::frame_of(QPainter& painter, const QRectF& area, const Theme& theme) const {
  QRectF inner = draw_title(painter, area, theme, title_).adjusted(kMargin, 0.0, -kMargin, -kMargin);
  const QFontMetricsF metrics(painter.font());
  QFont bold_font = painter.font();
  bold_font.setBold(true);
  const QFontMetricsF bold(bold_font);
  const double legend = legend_height(metrics, legend_, inner.width());
  draw_legend(painter, inner, theme, legend_);
  inner.setTop(inner.top() + legend + (limit_ || !line_names_.empty() ? metrics.height() : 0.0));
  Frame frame;
  for (const BarRow& row : rows_) {
    frame.names_width =
        std::max(frame.names_width, (row.emphasised ? bold : metrics).horizontalAdvance(row.name) + 2.0);
  }
  frame.names_width = std::min(frame.names_width, inner.width() * kMostNameShare);
  frame.names_left = inner.left();
  const double below = metrics.height() * 2.0 + kGap;
  for (const bool shares : {true, false}) {
    frame.shares = shares;
    frame.values_widths = widths_behind(metrics, bold, shares);
    const double width = inner.width() - frame.names_width - frame.values_width() - 2.0 * kGap;
    frame.bars = QRectF(inner.left() + frame.names_width + kGap, inner.top(), std::max(20.0, width),
                        std::max(20.0, inner.height() - below));
    if (width >= kLeastBars) {
      break;
    }
  }
  frame.line =
      std::min(line_names_.size() > 1 ? kMostOfSeveral : kMostLine, frame.bars.height() / std::max(1, lines_of_rows()));
  double top = frame.bars.top();
  for (const BarRow& row : rows_) {
    frame.tops.push_back(top);
    top += frame.line * std::max<double>(1.0, static_cast<double>(row.lines.size()));
  }
  frame.bars.setBottom(top);
  return frame;
}

void BarRows::draw_line_names(QPainter& painter, const Theme& theme, const Frame& frame) const {
  painter.save();
  QFont font = painter.font();
  font.setBold(true);
  painter.setFont(font);
  painter.setPen(theme.text);
  const double height = QFontMetricsF(font).height();
  double left = frame.bars.right();
  for (std::size_t line = 0; line < line_names_.size(); ++line) {
    left += kGap;
    painter.drawText(QRectF(left, frame.bars.top() - height, frame.values_widths[line], height),
                     Qt::AlignRight | Qt::AlignVCenter, line_names_[line]);
    left += frame.values_widths[line];
  }
  painter.restore();
}

void BarRows::draw(QPainter& painter, const QRectF& area, const Theme& theme, Spots& spots) const {
  painter.save();
  const Frame frame = frame_of(painter, area, theme);
  const QFontMetricsF metrics(painter.font());
  const int most = std::clamp(static_cast<int>(frame.bars.width() / (metrics.averageCharWidth() * 12.0)), 3, 10);
  double labelled = frame.names_left;  // where the last label ends
  for (const Tick& tick : axis_.ticks(most)) {
    const double x = frame.bars.left() + axis_.share(tick.value) * frame.bars.width();
    painter.setPen(QPen(theme.grid, 1.0));
    painter.drawLine(QPointF(x, frame.bars.top()), QPointF(x, frame.bars.bottom()));
    painter.setPen(theme.muted);
    const double width = metrics.horizontalAdvance(tick.label) + 2.0;
    if (x - width / 2.0 > labelled) {
      painter.drawText(QRectF(x - width / 2.0, frame.bars.bottom() + 2.0, width, metrics.height()), Qt::AlignCenter,
                       tick.label);
      labelled = x + width / 2.0 + kGap / 2.0;
    }
  }
  painter.setPen(theme.text);
  painter.drawText(QRectF(frame.names_left, frame.bars.bottom() + 2.0 + metrics.height(),
                          frame.bars.right() - frame.names_left, metrics.height()),
                   Qt::AlignRight | Qt::AlignVCenter, axis_.title);
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    draw_row(painter, theme, frame, i, spots);
  }
  draw_line_names(painter, theme, frame);
  draw_limit(painter, theme, frame);
  painter.restore();
}

void BarRows::draw_row(QPainter& painter, const Theme& theme, const Frame& frame, std::size_t index,
                       Spots& spots) const {
  const BarRow& row = rows_[index];
  QFont font = painter.font();
  font.setBold(row.emphasised);
  painter.save();
  painter.setFont(font);
  const QFontMetricsF metrics(font);
  const double height = frame.line * std::max<double>(1.0, static_cast<double>(row.lines.size()));
  painter.setPen(theme.text);
  const QRectF name(frame.names_left, frame.tops[index], frame.names_width, height);
  painter.drawText(name, Qt::AlignRight | Qt::AlignVCenter, metrics.elidedText(row.name, Qt::ElideRight, name.width()));
  const auto x_of = [&](double value) { return frame.bars.left() + axis_.share(value) * frame.bars.width(); };
  for (std::size_t line = 0; line < row.lines.size(); ++line) {
    const double top = frame.tops[index] + frame.line * static_cast<double>(line);
    const double inset = row.lines.size() > 1 ? 1.0 : std::min(3.0, frame.line * 0.15);
    QString tips;
    int id = -1;
    for (const Bar& bar : row.lines[line]) {
      const double from = x_of(std::min(bar.from, bar.to));
      const double width = std::max(x_of(std::max(bar.from, bar.to)) - from, bar.from == bar.to ? 0.0 : kThinnest);
      const QRectF box(from, top + inset, width, frame.line - 2.0 * inset);
      fill(painter, box, bar.category);
      if (bar.id >= 0 && bar.id == selected_) {
        painter.setPen(QPen(theme.selection, 2.0));
        painter.setBrush(Qt::NoBrush);
        painter.drawRect(box.adjusted(-1.0, -1.0, 1.0, 1.0));
      }
      if (row.lines[line].size() == 1) {
        tips = bar.tip;
        id = bar.id;
      } else {
        spots.push_back({box, bar.tip, bar.id});
      }
    }
    if (row.lines[line].size() == 1) {  // the whole row answers: a thin bar is hard to hit
      spots.push_back(
          {QRectF(frame.names_left, top, frame.bars.right() + frame.values_width() - frame.names_left, frame.line),
           tips, id});
    }
    if (row.linked && line == 0 && index > 0 && !row.lines[line].empty()) {
      painter.setPen(QPen(theme.axis, 1.0));
      const double x = x_of(row.lines[line].front().from);
      painter.drawLine(QPointF(x, frame.tops[index] - inset), QPointF(x, frame.tops[index] + inset));
    }
  }
  painter.setPen(row.warns ? theme.bad : theme.text);
  double left = frame.bars.right();
  for (std::size_t line = 0; line < row.values.size(); ++line) {
    left += kGap;
    painter.drawText(QRectF(left, frame.tops[index], frame.values_widths[line], height),
                     Qt::AlignRight | Qt::AlignVCenter, text_behind(row, line, frame.shares));
    left += frame.values_widths[line];
  }
  painter.restore();
}

void BarRows::draw_limit(QPainter& painter, const Theme& theme, const Frame& frame) const {
  if (!limit_) {
    return;
  }
  const double x = frame.bars.left() + axis_.share(*limit_) * frame.bars.width();
  painter.setPen(QPen(theme.bad, 2.0, Qt::DashLine));
  painter.drawLine(QPointF(x, frame.bars.top() - 2.0), QPointF(x, frame.bars.bottom()));
  const QFontMetricsF metrics(painter.font());
  const double width = metrics.horizontalAdvance(limit_name_) + 4.0;
  const double left = std::clamp(x - width / 2.0, frame.names_left,
                                 std::max(frame.names_left, frame.bars.right() + frame.values_width() - width));
  painter.setPen(theme.bad);
  painter.drawText(QRectF(left, frame.bars.top() - metrics.height() - 2.0, width, metrics.height()), Qt::AlignCenter,
                   limit_name_);
}

}  // namespace trainyard::gui
