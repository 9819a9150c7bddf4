#include "gui/views/topology_widget.h"

#include <QHelpEvent>
#include <QKeyEvent>
#include <QMouseEvent>
#include <QPainter>
#include <QToolTip>
#include <QWheelEvent>
#include <algorithm>
#include <cmath>

#include "gui/paint/frame_clock.h"
#include "gui/paint/topology_text.h"

namespace trainyard::gui {

namespace {

constexpr double kZoomStep = 1.3;
constexpr double kPanPixels = 80.0;
constexpr int kDragFrom = 4;
constexpr double kLinkReach = 5.0;         // pixels
constexpr std::size_t kFullestShown = 48;  // lines
constexpr float kFullFrom = 0.8F;          // of the fullest's load

double distance_to(const QLineF& line, QPointF point) {
  const QPointF along = line.p2() - line.p1();
  const double length = QPointF::dotProduct(along, along);
  const double share =
      length > 0.0 ? std::clamp(QPointF::dotProduct(point - line.p1(), along) / length, 0.0, 1.0) : 0.0;
  return QLineF(point, line.p1() + share * along).length();
}

}  // namespace

TopologyWidget::TopologyWidget(QWidget* parent) : QWidget(parent) {
  setFocusPolicy(Qt::StrongFocus);
  setMouseTracking(true);
  setAttribute(Qt::WA_OpaquePaintEvent);
  setAccessibleName(tr("Cluster and the load of its links"));
  setAccessibleDescription(tr(
      "Plus and minus zoom, arrows pan, 0 fits the cluster, F fits what is selected. Point and comma step through the "
      "switches, Enter asks what happens without one. The table has the same numbers."));
  setMinimumSize(280, 160);
}

void TopologyWidget::set_cluster(std::shared_ptr<const Cluster> cluster) {
  cluster_ = std::move(cluster);
  picture_ = cluster_ ? std::make_unique<ClusterPicture>(*cluster_) : nullptr;
  links_ = {};
  colours_ = {};
  ranks_.clear();
  selected_links_.clear();
  device_.reset();
  fullest_.clear();
  rebuild_tiles();
  fit_all();
}

void TopologyWidget::set_links(LinkValues links) {
  links_ = std::move(links);
  find_fullest();
  rebuild_tiles();
}

void TopologyWidget::set_colours(GpuColours colours) {
  colours_ = std::move(colours);
  rebuild_tiles();
}

void TopologyWidget::find_fullest() {
  fullest_.clear();
  std::vector<LinkId> all;
  float most = 0.0F;
  for (const float busy : links_.busy) {
    most = std::max(most, busy);
  }
  for (std::size_t l = 0; l < links_.busy.size(); ++l) {
    if (most > 0.0F && links_.busy[l] >= kFullFrom * most && cluster_->links()[l].kind == LinkKind::kCable) {
      all.emplace_back(static_cast<std::int64_t>(l));
    }
  }
  // Where hundreds are as full, none stands out.
  if (all.size() <= kFullestShown) {
    fullest_ = std::move(all);
  }
}

void TopologyWidget::rebuild_tiles() {
  tiles_.clear();
  loads_.clear();
  if (picture_) {
    const Theme theme = current(palette());
    if (links_.known()) {
      loads_ = gpu_loads(*cluster_, *picture_, links_);
    }
    for (const PodPicture& pod : picture_->pods()) {
      tiles_.push_back(tile_of(pod, loads_, colours_, theme));
    }
  }
  update();
}

void TopologyWidget::select_ranks(std::vector<Rank> ranks) {
  ranks_ = std::move(ranks);
  update();
}

void TopologyWidget::select_links(std::vector<LinkId> links) {
  selected_links_ = std::move(links);
  update();
}

void TopologyWidget::select_device(std::optional<VertexId> device) {
  device_ = device;
  update();
}

void TopologyWidget::set_view(const PlaneView& view) {
  view_ = view;
  fits_ = false;
  update();
}

void TopologyWidget::zoom_at(QPointF pixel, double factor) {
  if (picture_) {
    set_view(zoomed(view_, pixel, factor, size(), picture_->bounds()));
  }
}

void TopologyWidget::fit_all() {
  if (picture_) {
    // A line of text above and below: the names of pods may have to go there.
    const int line = picture_->whole() ? 0 : fontMetrics().height();
    view_ = fitted(picture_->bounds(), size() - QSize(0, 2 * std::min(line, height() / 8)));
  }
  fits_ = true;
  update();
}

void TopologyWidget::fit_selection() {
  if (!picture_) {
    return;
  }
  QRectF area;
  const auto add = [&](const QRectF& rect) { area = area.isNull() ? rect : area.united(rect); };
  for (const Rank rank : ranks_) {
    if (const CellPlace* cell = picture_->cell(rank)) {
      add(picture_->cell_rect(*cell));
    }
  }
  for (const LinkId id : selected_links_) {
    const Link& link = cluster_->link(id);
    add(QRectF(picture_->anchor(link.from), picture_->anchor(link.to)).normalized().adjusted(-1, -1, 1, 1));
  }
  if (device_) {
    add(picture_->rect(*device_).value_or(QRectF(picture_->anchor(*device_), QSizeF(1, 1))));
  }
  if (area.isNull()) {
    fit_all();
  } else {
    const double room = std::max(1.0, 0.2 * std::max(area.width(), area.height()));
    set_view(fitted(area.adjusted(-room, -room, room, room), size()));
  }
}

void TopologyWidget::set_empty_text(const QString& text) {
  empty_text_ = text;
  update();
}

void TopologyWidget::paint_to(QPainter& painter, bool to_file) {
  TopologyFrame frame;
  frame.theme = current(palette());
  if (!picture_) {
    painter.fillRect(rect(), frame.theme.background);
    painter.setPen(frame.theme.muted);
    painter.drawText(rect().adjusted(20, 20, -20, -20), Qt::AlignCenter | Qt::TextWordWrap,
                     empty_text_.isEmpty()
                         ? tr("No cluster yet. Choose a cluster in Inputs, or drop a topology file on the window.")
                         : empty_text_);
    return;
  }
  frame.cluster = cluster_.get();
  frame.picture = picture_.get();
  frame.links = &links_;
  frame.loads = &loads_;
  frame.colours = &colours_;
  frame.tiles = &tiles_;
  frame.fullest = &fullest_;
  frame.selected_links = &selected_links_;
  frame.selected_ranks = &ranks_;
  frame.selected_device = device_;
  frame.view = view_;
  frame.size = size();
  frame.font = font();
  frame.to_file = to_file;
  paint_topology(painter, frame);
}

void TopologyWidget::paintEvent(QPaintEvent*) {
  const double start = thread_cpu_ms();
  QPainter painter(this);
  paint_to(painter, false);
  painter.end();
  last_frame_ms_ = thread_cpu_ms() - start;
}

void TopologyWidget::resizeEvent(QResizeEvent*) {
  if (fits_) {
    fit_all();
  }
}

void TopologyWidget::wheelEvent(QWheelEvent* event) {
  zoom_at(event->position(), std::pow(1.0015, event->angleDelta().y()));
  event->accept();
}

void TopologyWidget::keyPressEvent(QKeyEvent* event) {
  const QPointF middle(width() / 2.0, height() / 2.0);
  const QPointF at = underMouse() ? QPointF(mapFromGlobal(QCursor::pos())) : middle;
  const auto pan = [&](double x, double y) {
    if (picture_) {
      set_view(panned(view_, QPointF(x, y), picture_->bounds()));
    }
  };
  if (event->modifiers() & (Qt::ControlModifier | Qt::AltModifier | Qt::MetaModifier)) {
    QWidget::keyPressEvent(event);
    return;
  }
  switch (event->key()) {
    case Qt::Key_Plus:
    case Qt::Key_Equal:
    case Qt::Key_W:
      return zoom_at(at, kZoomStep);
    case Qt::Key_Minus:
    case Qt::Key_S:
      return zoom_at(at, 1.0 / kZoomStep);
    case Qt::Key_A:
    case Qt::Key_Left:
      return pan(-kPanPixels, 0);
    case Qt::Key_D:
    case Qt::Key_Right:
      return pan(kPanPixels, 0);
    case Qt::Key_Up:
      return pan(0, -kPanPixels);
    case Qt::Key_Down:
      return pan(0, kPanPixels);
    case Qt::Key_0:
      return fit_all();
    case Qt::Key_F:
      return fit_selection();
    case Qt::Key_Period:
      return step_device(1);
    case Qt::Key_Comma:
      return step_device(-1);
    case Qt::Key_Return:
    case Qt::Key_Enter:
      if (device_) {
        Q_EMIT device_clicked(*device_);
      }
      return;
    case Qt::Key_Escape:
      Q_EMIT nothing_clicked();
      return;
    default:
      QWidget::keyPressEvent(event);
  }
}

void TopologyWidget::mousePressEvent(QMouseEvent* event) {
  if (event->button() == Qt::LeftButton) {
    pressed_ = event->position();
    last_ = event->position();
    dragging_ = false;
  }
}

void TopologyWidget::mouseMoveEvent(QMouseEvent* event) {
  if (!pressed_ || !picture_) {
    return;
  }
  if (!dragging_ && (event->position() - *pressed_).manhattanLength() < kDragFrom) {
    return;
  }
  dragging_ = true;
  set_view(panned(view_, last_ - event->position(), picture_->bounds()));
  last_ = event->position();
}

void TopologyWidget::mouseReleaseEvent(QMouseEvent* event) {
  if (pressed_ && !dragging_ && event->button() == Qt::LeftButton) {
    click(event->position(), event->modifiers().testFlag(Qt::ShiftModifier));
  }
  pressed_.reset();
  dragging_ = false;
}

// Through the switches, from above down and pod by pod; of a cluster that is drawn whole, through all devices.
void TopologyWidget::step_device(int direction) {
  if (!picture_) {
    return;
  }
  std::vector<VertexId> all = picture_->above();
  all.insert(all.end(), picture_->devices().begin(), picture_->devices().end());
  for (const PodPicture& pod : picture_->pods()) {
    all.insert(all.end(), pod.spines.begin(), pod.spines.end());
    all.insert(all.end(), pod.leaves.begin(), pod.leaves.end());
  }
  if (all.empty()) {
    return;
  }
  const auto count = static_cast<std::ptrdiff_t>(all.size());
  const auto now = device_ ? std::find(all.begin(), all.end(), *device_) : all.end();
  const std::ptrdiff_t next =
      now == all.end() ? (direction > 0 ? 0 : count - 1) : (now - all.begin() + direction + count) % count;
  show_device(all[static_cast<std::size_t>(next)]);
}

// Selects it, and moves the view where it lies outside.
void TopologyWidget::show_device(VertexId device) {
  select_device(device);
  const QPointF at = to_pixel(view_, picture_->anchor(device), size());
  if (!QRectF(rect()).contains(at)) {
    set_view(panned(view_, at - QRectF(rect()).center(), picture_->bounds()));
  }
  Q_EMIT device_stepped(device);
}

std::optional<LinkId> TopologyWidget::link_at(QPointF pixel) const {
  std::optional<LinkId> nearest;
  double reach = kLinkReach;
  const auto look = [&](LinkId id) {
    const Link& link = cluster_->link(id);
    const QLineF line(to_pixel(view_, picture_->anchor(link.from), size()),
                      to_pixel(view_, picture_->anchor(link.to), size()));
    const double distance = distance_to(line, pixel);
    if (distance < reach) {
      reach = distance;
      nearest = id;
    }
  };
  // Those that have a line; a trunk stands for its fullest.
  for (const LinkId id : selected_links_) {
    look(id);
  }
  for (const LinkId id : fullest_) {
    look(id);
  }
  for (const LinkId id : picture_->loose_links()) {
    look(id);
  }
  for (const Trunk& trunk : picture_->trunks()) {
    const QLineF line(to_pixel(view_, trunk.begin, size()), to_pixel(view_, trunk.end, size()));
    if (!nearest && distance_to(line, pixel) < kLinkReach + 2.0) {
      nearest = *std::max_element(trunk.links.begin(), trunk.links.end(),
                                  [&](LinkId a, LinkId b) { return links_.of(a) < links_.of(b); });
    }
  }
  return nearest;
}

void TopologyWidget::click(QPointF pixel, bool add) {
  if (!picture_) {
    return;
  }
  const QPointF point = to_point(view_, pixel, size());
  if (const auto rank = picture_->rank_at(point)) {
    Q_EMIT rank_clicked(*rank, add);
  } else if (const auto device = picture_->device_at(point)) {
    Q_EMIT device_clicked(*device);
  } else if (const auto link = link_at(pixel)) {
    Q_EMIT link_clicked(*link);
  } else {
    Q_EMIT nothing_clicked();
  }
}

QString TopologyWidget::text_at(QPointF pixel) const {
  if (!picture_) {
    return {};
  }
  const QPointF point = to_point(view_, pixel, size());
  if (const auto rank = picture_->rank_at(point)) {
    QString text = QStringLiteral("<b>rank %1</b><br>%2")
                       .arg(rank->value())
                       .arg(device_text(*cluster_, cluster_->gpus()[rank->at()]));
    if (links_.known()) {
      text += tr("<br>its fullest link is busy %1 % of the time")
                  .arg(100.0 * static_cast<double>(loads_[rank->at()]), 0, 'f', 1);
    }
    if (!colours_.category.empty() && colours_.category[rank->at()] >= 0) {
      text +=
          QStringLiteral("<br>%1 %2").arg(QString::fromStdString(colours_.title)).arg(colours_.category[rank->at()]);
    }
    return text;
  }
  if (const auto device = picture_->device_at(point)) {
    return device_text(*cluster_, *device) + tr("<br><i>click: what if it fails</i>");
  }
  if (const auto link = link_at(pixel)) {
    return link_text(*cluster_, *link, links_);
  }
  return {};
}

bool TopologyWidget::event(QEvent* event) {
  // Escape takes a selection off first; without one it is the window's.
  if (event->type() == QEvent::ShortcutOverride && static_cast<QKeyEvent*>(event)->key() == Qt::Key_Escape &&
      selects()) {
    event->accept();
    return true;
  }
  if (event->type() == QEvent::ToolTip) {
    const auto* help = static_cast<QHelpEvent*>(event);
    const QString text = text_at(help->pos());
    if (text.isEmpty()) {
      QToolTip::hideText();
    } else {
      QToolTip::showText(help->globalPos(), text, this);
    }
    return true;
  }
  return QWidget::event(event);
}

void TopologyWidget::changeEvent(QEvent* event) {
  QWidget::changeEvent(event);
  if (event->type() == QEvent::PaletteChange) {
    rebuild_tiles();
  }
}

}  // namespace trainyard::gui
