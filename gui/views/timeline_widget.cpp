#include "gui/views/timeline_widget.h"

#include <QHelpEvent>
#include <QKeyEvent>
#include <QMouseEvent>
#include <QPainter>
#include <QScrollBar>
#include <QToolTip>
#include <QWheelEvent>
#include <algorithm>
#include <cmath>
#include <tuple>

#include "gui/paint/frame_clock.h"
#include "gui/paint/slice_text.h"

namespace trainyard::gui {

namespace {

constexpr double kZoomStep = 1.4;
constexpr double kPanStep = 0.15;
constexpr double kLowestRow = 3.0;
constexpr double kHighestRow = 80.0;
constexpr double kReach = 3.0;         // pixels beside a slice that still hit it
constexpr int kDragFrom = 4;           // pixels
constexpr double kGutterMarks = 44.0;  // left of names, and the marks to the right of them

}  // namespace

TimelineWidget::TimelineWidget(QWidget* parent)
    : QAbstractScrollArea(parent), rows_(std::make_shared<const TimelineRows>()) {
  setFocusPolicy(Qt::StrongFocus);
  setFrameShape(QFrame::NoFrame);
  setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  setAccessibleName(tr("Timeline of one step"));
  setAccessibleDescription(tr(
      "W and S zoom, A and D pan, F fits the selection, 0 fits all, point and comma step through slices, up and down "
      "go to the row above or below, P pins a row, O opens its ranks. The table has the same numbers."));
  viewport()->setMouseTracking(true);
  viewport()->setAttribute(Qt::WA_OpaquePaintEvent);
  setMinimumSize(320, 120);
}

void TimelineWidget::set_source(TimelineSource source) {
  opened_.clear();
  rows_ = std::make_shared<const TimelineRows>(std::move(source), opened_);
  measure_names();
  pinned_.clear();
  forget_rows();
  fit_all();
}

// Places of rows and slices mean nothing any more.
void TimelineWidget::forget_rows() {
  const bool had_slice = selected_.has_value();
  const bool had_area = area_.has_value();
  selected_.reset();
  area_.reset();
  found_.clear();
  if (!query_.isEmpty()) {
    search(query_);
  }
  update_scroll_bars();
  viewport()->update();
  if (had_slice) {
    Q_EMIT slice_selected();
  }
  if (had_area) {
    Q_EMIT area_selected();
  }
}

TimeView TimelineWidget::limits() const { return {0.0, std::max(static_cast<double>(rows_->duration()), 1.0)}; }

void TimelineWidget::set_view(const TimeView& view) {
  if (view == view_ || view.span() <= 0.0) {
    return;
  }
  view_ = view;
  viewport()->update();
  Q_EMIT view_changed();
}

void TimelineWidget::set_row_height(double height) {
  row_height_ = std::clamp(height, kLowestRow, kHighestRow);
  update_scroll_bars();
  viewport()->update();
}

void TimelineWidget::select_slice(std::optional<SliceRef> slice, bool reveal) {
  if (slice && reveal) {
    reveal_row(slice->row);
    const Mark& mark = rows_->mark(*slice);
    const auto begin = static_cast<double>(mark.begin);
    const auto end = static_cast<double>(mark.end);
    if (begin < view_.begin || end > view_.end) {
      set_view(end - begin > view_.span() ? fitted(begin, end, limits()) : centred(view_, begin, end, limits()));
    }
  }
  if (slice == selected_) {
    return;
  }
  selected_ = slice;
  centred_ = false;
  viewport()->update();
  Q_EMIT slice_selected();
}

void TimelineWidget::select_area(const std::optional<TimeArea>& area) {
  area_ = area;
  centred_ = false;
  viewport()->update();
  Q_EMIT area_selected();
}

void TimelineWidget::show_area(const TimeArea& area) {
  area_ = area;
  centred_ = false;
  viewport()->update();
}

void TimelineWidget::mark_ranks(std::vector<Rank> ranks) {
  ranks_ = std::move(ranks);
  viewport()->update();
}

void TimelineWidget::toggle_pin(std::size_t row) {
  const auto found = std::find(pinned_.begin(), pinned_.end(), row);
  if (found == pinned_.end()) {
    pinned_.push_back(row);
  } else {
    pinned_.erase(found);
  }
  update_scroll_bars();
  viewport()->update();
}

void TimelineWidget::toggle_role(RoleId role) {
  // Pins stay with what they show.
  std::vector<TimelineRow> pins;
  for (const std::size_t row : pinned_) {
    pins.push_back(rows_->rows()[row]);
  }
  if (!opened_.erase(role)) {
    opened_.insert(role);
  }
  rows_ = std::make_shared<const TimelineRows>(rows_->source(), opened_);
  measure_names();
  pinned_.clear();
  for (const TimelineRow& pin : pins) {
    const auto& rows = rows_->rows();
    const auto same = std::find_if(rows.begin(), rows.end(), [&](const TimelineRow& row) {
      return row.role == pin.role && row.stream == pin.stream && row.measured == pin.measured && row.rank == pin.rank;
    });
    if (same != rows.end()) {
      pinned_.push_back(static_cast<std::size_t>(same - rows.begin()));
    }
  }
  forget_rows();
}

std::size_t TimelineWidget::search(const QString& text) {
  query_ = text.trimmed();
  found_ = find_slices(*rows_, SliceQuery(query_.toStdString()));
  viewport()->update();
  Q_EMIT found_changed();
  return found_.size();
}

void TimelineWidget::go_to_found(int direction) {
  if (found_.empty()) {
    return;
  }
  const auto before = [&](const SliceRef& a, const SliceRef& b) {
    return std::tuple(rows_->mark(a).begin, a.row) < std::tuple(rows_->mark(b).begin, b.row);
  };
  auto next = found_.begin();
  if (selected_) {
    next = direction > 0 ? std::upper_bound(found_.begin(), found_.end(), *selected_, before)
                         : std::lower_bound(found_.begin(), found_.end(), *selected_, before);
  }
  if (direction < 0) {
    next = next == found_.begin() ? found_.end() - 1 : next - 1;
  } else if (next == found_.end()) {
    next = found_.begin();
  }
  select_slice(*next, true);
}

void TimelineWidget::zoom(double factor) {
  const double x = viewport()->mapFromGlobal(QCursor::pos()).x();
  const bool inside = viewport()->underMouse() && x >= gutter(viewport()->width()) && x < viewport()->width();
  const double at = inside ? time_at(x) : (view_.begin + view_.end) / 2.0;
  set_view(zoomed(view_, at, factor, limits()));
}

void TimelineWidget::pan(double share) { set_view(panned(view_, share, limits())); }

void TimelineWidget::fit_all() { set_view(fitted(limits().begin, limits().end, limits())); }

void TimelineWidget::fit_selection() {
  std::optional<TimeView> what;
  if (selected_) {
    const Mark& mark = rows_->mark(*selected_);
    what = TimeView{static_cast<double>(mark.begin), static_cast<double>(mark.end)};
  } else if (area_) {
    what = TimeView{area_->begin, area_->end};
  }
  if (!what) {
    fit_all();
    return;
  }
  if (selected_) {
    reveal_row(selected_->row);
  }
  set_view(centred_ ? fitted(what->begin, what->end, limits()) : centred(view_, what->begin, what->end, limits()));
  centred_ = !centred_;
}

void TimelineWidget::step(int direction) {
  if (rows_->rows().empty()) {
    return;
  }
  if (!selected_) {
    const SlicePyramid& first = *rows_->rows().front().pyramid;
    const std::size_t mark = first.first_after(static_cast<Nanoseconds>(std::max(view_.begin, 0.0)));
    if (mark < first.marks().size()) {
      select_slice(SliceRef{0, mark}, true);
    }
    return;
  }
  const std::size_t count = rows_->rows()[selected_->row].slices.size();
  const std::size_t mark = selected_->mark;
  if (direction > 0 && mark + 1 < count) {
    select_slice(SliceRef{selected_->row, mark + 1}, true);
  } else if (direction < 0 && mark > 0) {
    select_slice(SliceRef{selected_->row, mark - 1}, true);
  }
}

// To the slice of the row above or below that is at work at the same time, or next.
void TimelineWidget::step_row(int direction) {
  const Nanoseconds begin = rows_->mark(*selected_).begin;
  const auto last = static_cast<std::ptrdiff_t>(rows_->rows().size()) - 1;
  for (auto row = static_cast<std::ptrdiff_t>(selected_->row) + direction; row >= 0 && row <= last; row += direction) {
    const SlicePyramid& of = *rows_->rows()[static_cast<std::size_t>(row)].pyramid;
    if (!of.marks().empty()) {
      const std::size_t mark = std::min(of.first_after(begin), of.marks().size() - 1);
      return select_slice(SliceRef{static_cast<std::size_t>(row), mark}, true);
    }
  }
}

void TimelineWidget::toggle_ranks() {
  if (selected_ && rows_->rows()[selected_->row].foldable) {
    toggle_role(rows_->rows()[selected_->row].role);
  }
}

double TimelineWidget::gutter(int width) const {
  constexpr double kLeast = 130.0;
  constexpr double kMostOfWidth = 0.32;
  return std::clamp(names_width_ + kGutterMarks, kLeast, std::max(kLeast, kMostOfWidth * width));
}

// As wide as the names of rows are, within reason: cut off they'd all look alike.
void TimelineWidget::measure_names() {
  const QFontMetricsF metrics(font());
  names_width_ = 0.0;
  for (std::size_t row = 0; row < rows_->rows().size(); ++row) {
    for (const std::string& text : {row_name(*rows_, row), row_detail(*rows_, row)}) {
      names_width_ = std::max(names_width_, metrics.horizontalAdvance(QString::fromStdString(text)));
    }
  }
}

double TimelineWidget::plot_width() const { return viewport()->width() - gutter(viewport()->width()); }

double TimelineWidget::time_at(double x) const {
  return gui::time_at(view_, x - gutter(viewport()->width()), plot_width());
}

RowLayout TimelineWidget::layout(int height) const {
  return place_rows(*rows_, pinned_, row_height_, verticalScrollBar()->value(), height);
}

void TimelineWidget::update_scroll_bars() {
  const RowLayout places = place_rows(*rows_, pinned_, row_height_, 0.0, viewport()->height());
  const double room = viewport()->height() - places.pinned_bottom;
  verticalScrollBar()->setRange(0, static_cast<int>(std::ceil(std::max(0.0, places.content - room))));
  verticalScrollBar()->setPageStep(static_cast<int>(std::max(room, 1.0)));
  verticalScrollBar()->setSingleStep(static_cast<int>(std::max(row_height_, 12.0)));
}

void TimelineWidget::reveal_row(std::size_t row) {
  if (std::find(pinned_.begin(), pinned_.end(), row) != pinned_.end()) {
    return;
  }
  const RowLayout places = layout(viewport()->height());
  const double room = viewport()->height() - places.pinned_bottom;
  const double top = row_height_ * static_cast<double>(row);
  if (top < verticalScrollBar()->value()) {
    verticalScrollBar()->setValue(static_cast<int>(top));
  } else if (top + row_height_ > verticalScrollBar()->value() + room) {
    verticalScrollBar()->setValue(static_cast<int>(std::ceil(top + row_height_ - room)));
  }
}

std::optional<std::size_t> TimelineWidget::row_at(QPointF position) const {
  const RowLayout places = layout(viewport()->height());
  const RowPlace* place = place_at(places, position.y());
  return place == nullptr ? std::nullopt : std::optional(place->row);
}

std::optional<SliceRef> TimelineWidget::slice_at(QPointF position) const {
  const auto row = row_at(position);
  if (!row || position.x() < gutter(viewport()->width())) {
    return std::nullopt;
  }
  const double reach = kReach * view_.span() / std::max(plot_width(), 1.0);
  const auto mark = rows_->rows()[*row].pyramid->nearest(static_cast<Nanoseconds>(time_at(position.x())),
                                                         static_cast<Nanoseconds>(reach));
  return mark ? std::optional(SliceRef{*row, *mark}) : std::nullopt;
}

TimelineFrame TimelineWidget::frame(QSize size, bool to_file) const {
  TimelineFrame frame;
  frame.rows = rows_.get();
  frame.view = view_;
  frame.layout = layout(size.height());
  frame.size = size;
  frame.gutter = std::floor(gutter(size.width()));
  frame.theme = current(palette());
  frame.font = font();
  frame.pixel_ratio = to_file ? 1.0 : devicePixelRatioF();
  frame.to_file = to_file;
  frame.selected = selected_;
  frame.area = area_;
  frame.found = found_;
  frame.ranks = ranks_;
  return frame;
}

void TimelineWidget::paint_to(QPainter& painter, bool to_file) {
  painter_.paint(painter, frame(viewport()->size(), to_file));
}

void TimelineWidget::paintEvent(QPaintEvent*) {
  const double start = thread_cpu_ms();
  QPainter painter(viewport());
  paint_to(painter, false);
  painter.end();
  last_frame_ms_ = thread_cpu_ms() - start;
}

void TimelineWidget::resizeEvent(QResizeEvent* event) {
  QAbstractScrollArea::resizeEvent(event);
  update_scroll_bars();
}

void TimelineWidget::scrollContentsBy(int, int) { viewport()->update(); }

void TimelineWidget::wheelEvent(QWheelEvent* event) {
  const QPoint turn = event->angleDelta();
  if (event->modifiers().testFlag(Qt::ControlModifier)) {
    set_view(zoomed(view_, time_at(event->position().x()), std::pow(1.0015, turn.y()), limits()));
  } else if (event->modifiers().testFlag(Qt::ShiftModifier) || std::abs(turn.x()) > std::abs(turn.y())) {
    const int by = std::abs(turn.x()) > std::abs(turn.y()) ? turn.x() : turn.y();
    pan(-by / 1200.0);
  } else {
    QAbstractScrollArea::wheelEvent(event);
    return;
  }
  event->accept();
}

void TimelineWidget::keyPressEvent(QKeyEvent* event) {
  if (event->modifiers() & (Qt::ControlModifier | Qt::AltModifier | Qt::MetaModifier)) {
    QAbstractScrollArea::keyPressEvent(event);
    return;
  }
  switch (event->key()) {
    case Qt::Key_W:
      return zoom(kZoomStep);
    case Qt::Key_S:
      return zoom(1.0 / kZoomStep);
    case Qt::Key_A:
      return pan(-kPanStep);
    case Qt::Key_D:
      return pan(kPanStep);
    case Qt::Key_F:
      return fit_selection();
    case Qt::Key_0:
      return fit_all();
    case Qt::Key_Period:
      return step(1);
    case Qt::Key_Comma:
      return step(-1);
    case Qt::Key_P:
      if (selected_) {
        toggle_pin(selected_->row);
      }
      return;
    case Qt::Key_O:
      return toggle_ranks();
    case Qt::Key_Left:
      return pan(-kPanStep);
    case Qt::Key_Right:
      return pan(kPanStep);
    case Qt::Key_Up:
    case Qt::Key_Down:
      if (selected_) {
        return step_row(event->key() == Qt::Key_Down ? 1 : -1);
      }
      return QAbstractScrollArea::keyPressEvent(event);
    case Qt::Key_Plus:
      return set_row_height(row_height_ * 1.25);
    case Qt::Key_Minus:
      return set_row_height(row_height_ / 1.25);
    case Qt::Key_Escape:
      select_slice(std::nullopt, false);
      select_area(std::nullopt);
      return;
    default:
      QAbstractScrollArea::keyPressEvent(event);
  }
}

void TimelineWidget::mousePressEvent(QMouseEvent* event) {
  if (event->button() == Qt::LeftButton) {
    pressed_ = event->position();
    dragging_ = false;
  }
}

void TimelineWidget::drag_to(QPointF position) {
  const double left = gutter(viewport()->width());
  const double a = time_at(std::max(pressed_->x(), left));
  const double b = time_at(std::clamp(position.x(), left, static_cast<double>(viewport()->width())));
  const auto from = row_at(*pressed_);
  const auto to = row_at(position);
  TimeArea area;
  area.begin = std::max(0.0, std::min(a, b));
  area.end = std::max(a, b);
  // Drawn along the axis, or past the last row: all rows.
  const std::size_t last = rows_->rows().empty() ? 0 : rows_->rows().size() - 1;
  area.first_row = from ? std::min(*from, to.value_or(last)) : 0;
  area.last_row = from ? std::max(*from, to.value_or(last)) : last;
  select_area(area);
}

void TimelineWidget::mouseMoveEvent(QMouseEvent* event) {
  if (!pressed_ || !(event->buttons() & Qt::LeftButton)) {
    return;
  }
  if (!dragging_ && (event->position() - *pressed_).manhattanLength() < kDragFrom) {
    return;
  }
  if (pressed_->x() < gutter(viewport()->width())) {
    return;
  }
  dragging_ = true;
  drag_to(event->position());
}

void TimelineWidget::mouseReleaseEvent(QMouseEvent* event) {
  if (event->button() != Qt::LeftButton || !pressed_) {
    return;
  }
  if (!dragging_) {
    click(event->position());
  }
  pressed_.reset();
  dragging_ = false;
}

void TimelineWidget::click(QPointF position) {
  const auto row = row_at(position);
  if (row && position.x() < gutter(viewport()->width())) {
    click_gutter(position, *row);
    return;
  }
  if (area_) {
    select_area(std::nullopt);
  }
  select_slice(slice_at(position), false);
}

void TimelineWidget::click_gutter(QPointF position, std::size_t row) {
  const double from_right = gutter(viewport()->width()) - position.x();
  const TimelineRow& of = rows_->rows()[row];
  if (from_right < 20.0) {
    toggle_pin(row);
  } else if (from_right < 34.0 && of.foldable) {
    toggle_role(of.role);
  } else {
    TimeArea area;
    area.end = static_cast<double>(rows_->duration());
    area.first_row = area.last_row = row;
    select_area(area);
  }
}

void TimelineWidget::mouseDoubleClickEvent(QMouseEvent* event) {
  if (const auto slice = slice_at(event->position())) {
    select_slice(slice, false);
    const Mark& mark = rows_->mark(*slice);
    set_view(fitted(static_cast<double>(mark.begin), static_cast<double>(mark.end), limits()));
  }
}

// Escape takes a selection off first; without one it is the window's.
bool TimelineWidget::event(QEvent* event) {
  if (event->type() == QEvent::ShortcutOverride && static_cast<QKeyEvent*>(event)->key() == Qt::Key_Escape &&
      (selected_ || area_)) {
    event->accept();
    return true;
  }
  return QAbstractScrollArea::event(event);
}

bool TimelineWidget::viewportEvent(QEvent* event) {
  if (event->type() != QEvent::ToolTip) {
    return QAbstractScrollArea::viewportEvent(event);
  }
  const auto* help = static_cast<QHelpEvent*>(event);
  const QPointF position = help->pos();
  if (const auto slice = slice_at(position)) {
    QToolTip::showText(help->globalPos(), QString::fromStdString(slice_tooltip(*rows_, *slice)), viewport());
    return true;
  }
  const auto row = row_at(position);
  const double from_right = gutter(viewport()->width()) - position.x();
  if (!row || from_right <= 0.0) {
    QToolTip::hideText();
  } else if (from_right < 20.0) {
    QToolTip::showText(help->globalPos(), tr("Keeps this row in view at the top"), viewport());
  } else if (from_right < 34.0 && rows_->rows()[*row].foldable) {
    QToolTip::showText(help->globalPos(), tr("A row for each measured rank, or one for all"), viewport());
  } else {
    const std::string text = row_name(*rows_, *row) + "\n" + row_detail(*rows_, *row);
    QToolTip::showText(help->globalPos(), QString::fromStdString(text), viewport());
  }
  return true;
}

void TimelineWidget::changeEvent(QEvent* event) {
  QAbstractScrollArea::changeEvent(event);
  if (event->type() == QEvent::PaletteChange || event->type() == QEvent::FontChange) {
    measure_names();
    viewport()->update();
  }
}

}  // namespace trainyard::gui
