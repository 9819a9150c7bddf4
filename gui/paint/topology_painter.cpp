#include "gui/paint/topology_painter.h"

#include <QFontMetricsF>
#include <QPainter>
#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "core/units/format_quantity.h"
#include "gui/paint/hatch.h"
#include "gui/paint/label_places.h"

namespace trainyard::gui {

namespace {

constexpr double kNameFrom = 56.0;          // pixels wide: a pod with a name
constexpr std::size_t kAllLinksUpTo = 700;  // of a cluster: each has a line
constexpr int kLoadSteps = 16;
constexpr double kLabelRoom = 34.0;

using Lines = std::map<int, std::vector<QLineF>>;  // by load, in sixteenths; -1: unknown

int load_step(double busy) { return static_cast<int>(std::lround(std::clamp(busy, 0.0, 1.0) * kLoadSteps)); }

QColor load_colour(const TopologyFrame& frame, double busy) {
  return frame.links->known() ? frame.theme.ramp(busy) : frame.theme.axis;
}

QRectF pixels(const TopologyFrame& frame, const QRectF& rect) { return to_pixels(frame.view, rect, frame.size); }
QPointF pixel(const TopologyFrame& frame, QPointF point) { return to_pixel(frame.view, point, frame.size); }
QRectF window(const TopologyFrame& frame) { return {QPointF(0, 0), QSizeF(frame.size)}; }

// Whether a line may touch the window; its box is enough.
bool seen(const TopologyFrame& frame, QPointF a, QPointF b) {
  const QRectF box = QRectF(a, b).normalized().adjusted(-4, -4, 4, 4);
  return box.intersects(window(frame));
}

void add_link(const TopologyFrame& frame, LinkId id, Lines& lines) {
  const Link& link = frame.cluster->link(id);
  const QPointF a = pixel(frame, frame.picture->anchor(link.from));
  const QPointF b = pixel(frame, frame.picture->anchor(link.to));
  if (seen(frame, a, b)) {
    lines[frame.links->known() ? load_step(static_cast<double>(frame.links->of(id))) : -1].emplace_back(a, b);
  }
}

void draw_lines(QPainter& painter, const TopologyFrame& frame, const Lines& lines) {
  for (const auto& [step, of] : lines) {
    const double busy = std::max(step, 0) / static_cast<double>(kLoadSteps);
    painter.setPen(QPen(load_colour(frame, busy), step < 0 ? 1.0 : load_width(busy)));
    painter.drawLines(of.data(), static_cast<int>(of.size()));
  }
}

// The fullest of its links.
double load_of(const TopologyFrame& frame, const Trunk& trunk) {
  double busy = 0.0;
  for (const LinkId link : trunk.links) {
    busy = std::max(busy, static_cast<double>(frame.links->of(link)));
  }
  return busy;
}

void draw_trunks(QPainter& painter, const TopologyFrame& frame) {
  painter.setRenderHint(QPainter::Antialiasing, true);
  for (const Trunk& trunk : frame.picture->trunks()) {
    const QPointF a = pixel(frame, trunk.begin);
    const QPointF b = pixel(frame, trunk.end);
    if (!seen(frame, a, b)) {
      continue;
    }
    const double busy = load_of(frame, trunk);
    QPen pen(load_colour(frame, busy), frame.links->known() ? 1.0 + 1.6 * load_width(busy) : 2.0);
    pen.setCapStyle(Qt::FlatCap);
    painter.setPen(pen);
    painter.drawLine(a, b);
  }
  painter.setRenderHint(QPainter::Antialiasing, false);
}

// The worst load at a switch; by all its links.
class SwitchLoads {
 public:
  explicit SwitchLoads(const TopologyFrame& frame) : frame_(frame) {}
  void prepare() {
    if (!frame_.links->known() || !worst_.empty()) {
      return;
    }
    worst_.assign(frame_.cluster->vertices().size(), 0.0F);
    for (std::size_t l = 0; l < frame_.cluster->links().size(); ++l) {
      const Link& link = frame_.cluster->links()[l];
      const float busy = frame_.links->busy[l];
      worst_[link.from.at()] = std::max(worst_[link.from.at()], busy);
      worst_[link.to.at()] = std::max(worst_[link.to.at()], busy);
    }
  }
  double of(VertexId id) const { return worst_.empty() ? 0.0 : static_cast<double>(worst_[id.at()]); }

 private:
  const TopologyFrame& frame_;
  std::vector<float> worst_;
};

QString short_name(const std::string& name) {
  const std::size_t slash = name.rfind('/');
  return QString::fromStdString(slash == std::string::npos ? name : name.substr(slash + 1));
}

// A row of switches: boxes while they have pixels, else a band of columns that each show their worst.
void draw_strip(QPainter& painter, const TopologyFrame& frame, const std::vector<VertexId>& switches,
                const SwitchLoads& loads) {
  if (switches.empty()) {
    return;
  }
  const QRectF first = pixels(frame, *frame.picture->rect(switches.front()));
  const QRectF last = pixels(frame, *frame.picture->rect(switches.back()));
  const QRectF all = first.united(last);
  if (!all.intersects(window(frame)) || all.height() < 0.7) {
    return;
  }
  painter.setPen(Qt::NoPen);
  if (first.width() < 1.6 && !frame.to_file) {
    std::map<int, double> worst;  // by pixel column
    for (std::size_t i = 0; i < switches.size(); ++i) {
      const double share = (static_cast<double>(i) + 0.5) / static_cast<double>(switches.size());
      double& column = worst[static_cast<int>(all.left() + share * all.width())];
      column = std::max(column, loads.of(switches[i]));
    }
    for (const auto& [x, busy] : worst) {
      painter.fillRect(QRectF(x, all.top(), 1.0, std::max(all.height(), 1.0)), load_colour(frame, busy));
    }
    return;
  }
  const QFontMetricsF metrics(frame.font);
  for (const VertexId id : switches) {
    const QRectF box = pixels(frame, *frame.picture->rect(id));
    if (!box.intersects(window(frame))) {
      continue;
    }
    const QColor colour = load_colour(frame, loads.of(id));
    painter.fillRect(box, colour);
    if (box.width() > kLabelRoom && box.height() > metrics.height()) {
      painter.setPen(readable_on(colour));
      painter.drawText(
          box, Qt::AlignCenter,
          metrics.elidedText(short_name(frame.cluster->vertex(id).name), Qt::ElideRight, box.width() - 4.0));
    }
  }
}

void draw_cell_rectangles(QPainter& painter, const QRectF& area, const QImage& image) {
  const double wide = area.width() / image.width();
  const double high = area.height() / image.height();
  for (int y = 0; y < image.height(); ++y) {
    for (int x = 0; x < image.width();) {
      const QRgb colour = image.pixel(x, y);
      int end = x + 1;
      while (end < image.width() && image.pixel(end, y) == colour) {
        ++end;
      }
      if (qAlpha(colour) != 0) {
        painter.fillRect(QRectF(area.left() + x * wide, area.top() + y * high, (end - x) * wide, high), QColor(colour));
      }
      x = end;
    }
  }
}

// Texels of the level at this scale; a coarse level may reach past the lattice.
void draw_tile(QPainter& painter, const TopologyFrame& frame, const PodPicture& pod, const PodTile& tile) {
  const int level = tile.level_for(frame.view.scale);
  const QImage& image = tile.image(level);
  const double cells = std::pow(2.0, level);
  const QRectF area =
      pixels(frame, QRectF(pod.lattice.topLeft(), QSizeF(image.width() * cells, image.height() * cells)));
  painter.save();
  painter.setClipRect(pixels(frame, pod.lattice).intersected(window(frame)));
  if (frame.to_file) {
    draw_cell_rectangles(painter, area, image);
  } else {
    painter.setRenderHint(QPainter::SmoothPixmapTransform, false);
    painter.drawImage(area, image);
  }
  painter.restore();
}

// Lines of the background between cells: GPUs as boxes without drawing each.
void draw_gaps(QPainter& painter, const TopologyFrame& frame, const PodPicture& pod) {
  const QRectF area = pixels(frame, pod.lattice);
  const QRectF shown = area.intersected(window(frame));
  const double gap = std::max(1.0, 0.12 * frame.view.scale);
  QPen pen(frame.theme.background, gap);
  pen.setCapStyle(Qt::FlatCap);
  painter.setPen(pen);
  std::vector<QLineF> lines;
  for (int column = 0; column <= pod.columns; ++column) {
    const double x = area.left() + column * frame.view.scale;
    if (x > shown.left() - gap && x < shown.right() + gap) {
      lines.emplace_back(x, shown.top(), x, shown.bottom());
    }
  }
  for (int row = 0; row <= pod.rows; ++row) {
    const double y = area.top() + row * frame.view.scale;
    if (y > shown.top() - gap && y < shown.bottom() + gap) {
      lines.emplace_back(shown.left(), y, shown.right(), y);
    }
  }
  painter.drawLines(lines.data(), static_cast<int>(lines.size()));
}

void draw_blocks(QPainter& painter, const TopologyFrame& frame, const PodPicture& pod) {
  std::vector<QRectF> frames;
  for (const BlockPicture& block : pod.blocks) {
    const QRectF area = pixels(
        frame, QRectF(pod.lattice.left() + block.column, pod.lattice.top() + block.row, block.columns, block.rows));
    if (area.intersects(window(frame))) {
      frames.push_back(area);
    }
  }
  painter.setPen(QPen(frame.theme.axis, 1.0));
  painter.setBrush(Qt::NoBrush);
  painter.drawRects(frames.data(), static_cast<int>(frames.size()));
}

QString gpu_label(const TopologyFrame& frame, Rank rank) {
  QString text = QString::number(rank.value());
  if (frame.colours->category.empty()) {
    if (frame.links->known()) {
      const float busy = (*frame.loads)[rank.at()];
      text += QStringLiteral("\n%1 %").arg(std::lround(100.0F * busy));
    }
  } else if (const std::int32_t category = frame.colours->category[rank.at()]; category >= 0) {
    text += QStringLiteral("\n#%1").arg(category);
  }
  return text;
}

void draw_gpu_labels(QPainter& painter, const TopologyFrame& frame, const PodPicture& pod, const PodTile& tile) {
  const QImage& colours = tile.image(0);
  const QRectF shown = window(frame);
  for (int row = 0; row < pod.rows; ++row) {
    for (int column = 0; column < pod.columns; ++column) {
      const std::int32_t rank = pod.cells[static_cast<std::size_t>(row) * static_cast<std::size_t>(pod.columns) +
                                          static_cast<std::size_t>(column)];
      const QRectF cell = pixels(frame, QRectF(pod.lattice.left() + column, pod.lattice.top() + row, 1.0, 1.0));
      if (rank >= 0 && cell.intersects(shown)) {
        painter.setPen(readable_on(QColor(colours.pixel(column, row))));
        painter.drawText(cell, Qt::AlignCenter, gpu_label(frame, Rank(rank)));
      }
    }
  }
}

// The second cue of groups: more than 7 differ by a mark as well. One call for each ink.
void draw_marks(QPainter& painter, const TopologyFrame& frame, const PodPicture& pod) {
  constexpr double kGap = 1.0;  // between cells
  std::vector<QRectF> dark;
  std::vector<QRectF> bright;
  const QRectF shown = window(frame);
  for (int row = 0; row < pod.rows; ++row) {
    for (int column = 0; column < pod.columns; ++column) {
      const std::int32_t rank = pod.cells[static_cast<std::size_t>(row) * static_cast<std::size_t>(pod.columns) +
                                          static_cast<std::size_t>(column)];
      const std::int32_t group = rank < 0 ? -1 : frame.colours->category[static_cast<std::size_t>(rank)];
      if (group < 0) {
        continue;
      }
      const CellLook look = frame.theme.cell(static_cast<std::size_t>(group));
      const QRectF cell = pixels(frame, QRectF(pod.lattice.left() + column, pod.lattice.top() + row, 1.0, 1.0));
      if (look.mark == CellMark::kNone || !cell.intersects(shown)) {
        continue;
      }
      std::vector<QRectF>& into = readable_on(look.colour) == QColor(Qt::white) ? bright : dark;
      for (const QRectF& part : mark_areas(cell.adjusted(kGap, kGap, 0.0, 0.0), look.mark)) {
        into.push_back(part);
      }
    }
  }
  painter.setPen(Qt::NoPen);
  for (const auto& [rects, ink] : {std::pair(&dark, readable_on(Qt::white)), std::pair(&bright, QColor(Qt::white))}) {
    painter.setBrush(ink);
    painter.drawRects(rects->data(), static_cast<int>(rects->size()));
  }
}

void draw_pod(QPainter& painter, const TopologyFrame& frame, std::size_t index, const SwitchLoads& loads) {
  const PodPicture& pod = frame.picture->pods()[index];
  const QRectF area = pixels(frame, pod.frame);
  if (!area.intersects(window(frame))) {
    return;
  }
  painter.fillRect(area, frame.theme.raised);
  const PodTile& tile = (*frame.tiles)[index];
  const PlaneDetail detail = detail_at(frame.view.scale);
  draw_tile(painter, frame, pod, tile);
  if (detail >= PlaneDetail::kGpus) {
    draw_gaps(painter, frame, pod);
    if (detail != PlaneDetail::kLabels && !frame.colours->category.empty()) {
      draw_marks(painter, frame, pod);  // close up, the group's number is written
    }
  }
  if (detail >= PlaneDetail::kBlocks) {
    draw_blocks(painter, frame, pod);
  }
  if (detail == PlaneDetail::kLabels) {
    draw_gpu_labels(painter, frame, pod, tile);
  }
  draw_strip(painter, frame, pod.leaves, loads);
  draw_strip(painter, frame, pod.spines, loads);
  painter.setPen(QPen(frame.theme.axis, 1.0));
  painter.setBrush(Qt::NoBrush);
  painter.drawRect(area);
}

void draw_devices(QPainter& painter, const TopologyFrame& frame, const SwitchLoads& loads) {
  const QFontMetricsF metrics(frame.font);
  for (const VertexId id : frame.picture->devices()) {
    const QRectF box = pixels(frame, *frame.picture->rect(id));
    if (!box.intersects(window(frame))) {
      continue;
    }
    const Vertex& of = frame.cluster->vertex(id);
    QColor colour = frame.links->known() ? load_colour(frame, loads.of(id)) : frame.theme.raised;
    if (of.kind == VertexKind::kGpu && !frame.colours->category.empty()) {
      const auto rank = frame.picture->rank_at(frame.picture->anchor(id));
      const std::int32_t category = rank ? frame.colours->category[rank->at()] : -1;
      colour = category < 0 ? frame.theme.missing : frame.theme.cell(static_cast<std::size_t>(category)).colour;
    }
    painter.setPen(QPen(frame.theme.axis, of.kind == VertexKind::kGpu ? 2.0 : 1.0));
    painter.setBrush(colour);
    painter.drawRect(box);
    if (box.height() > metrics.height() && box.width() > 24.0) {
      painter.setPen(readable_on(colour));
      painter.drawText(box, Qt::AlignCenter,
                       metrics.elidedText(short_name(of.name), Qt::ElideRight, box.width() - 4.0));
    }
  }
}

void draw_single_links(QPainter& painter, const TopologyFrame& frame) {
  Lines lines;
  const bool all = frame.cluster->links().size() <= kAllLinksUpTo;
  if (all) {
    for (std::size_t l = 0; l < frame.cluster->links().size(); ++l) {
      add_link(frame, LinkId(static_cast<std::int64_t>(l)), lines);
    }
  } else if (frame.fullest != nullptr) {
    for (const LinkId link : *frame.fullest) {
      add_link(frame, link, lines);
    }
  }
  painter.setRenderHint(QPainter::Antialiasing, true);
  draw_lines(painter, frame, lines);
  painter.setRenderHint(QPainter::Antialiasing, false);
}

void draw_selection(QPainter& painter, const TopologyFrame& frame) {
  painter.setRenderHint(QPainter::Antialiasing, true);
  if (frame.selected_links != nullptr) {
    for (const LinkId id : *frame.selected_links) {
      const Link& link = frame.cluster->link(id);
      const QPointF a = pixel(frame, frame.picture->anchor(link.from));
      const QPointF b = pixel(frame, frame.picture->anchor(link.to));
      if (seen(frame, a, b)) {
        painter.setPen(QPen(frame.theme.selection, 3.0 + load_width(static_cast<double>(frame.links->of(id)))));
        painter.drawLine(a, b);
        painter.setPen(QPen(load_colour(frame, static_cast<double>(frame.links->of(id))), 2.0));
        painter.drawLine(a, b);
      }
    }
  }
  painter.setRenderHint(QPainter::Antialiasing, false);
  painter.setBrush(Qt::NoBrush);
  painter.setPen(QPen(frame.theme.selection, frame.view.scale > 9.0 ? 3.0 : 1.5));
  std::vector<QRectF> cells;
  if (frame.selected_ranks != nullptr) {
    for (const Rank rank : *frame.selected_ranks) {
      if (const CellPlace* cell = frame.picture->cell(rank)) {
        const QRectF area = pixels(frame, frame.picture->cell_rect(*cell));
        if (area.intersects(window(frame))) {
          cells.push_back(area.width() < 4.0 ? QRectF(area.center() - QPointF(2, 2), QSizeF(4, 4)) : area);
        }
      }
    }
  }
  painter.drawRects(cells.data(), static_cast<int>(cells.size()));
  if (frame.selected_device) {
    if (const auto rect = frame.picture->rect(*frame.selected_device)) {
      painter.setPen(QPen(frame.theme.selection, 3.0));
      painter.drawRect(pixels(frame, *rect).adjusted(-2, -2, 2, 2));
    }
  }
}

using Tiers = std::map<VertexKind, std::vector<VertexId>>;

Tiers tiers_of(const TopologyFrame& frame) {
  Tiers tiers;
  for (const VertexId id : frame.picture->above()) {
    tiers[frame.cluster->vertex(id).kind].push_back(id);
  }
  return tiers;
}

QRectF strip_of(const TopologyFrame& frame, const std::vector<VertexId>& switches) {
  return pixels(frame, frame.picture->rect(switches.front())->united(*frame.picture->rect(switches.back())));
}

// Names of pods, of the tiers above them, and loads of trunks: where they lie on nothing else, otherwise not at all.
class Labels {
 public:
  Labels(QPainter& painter, const TopologyFrame& frame)
      : painter_(painter), frame_(frame), metrics_(frame.font), places_(window(frame)) {}

  void draw() {
    const Tiers tiers = tiers_of(frame_);
    for (const PodPicture& pod : frame_.picture->pods()) {
      places_.take(pixels(frame_, pod.frame));
    }
    for (const auto& [kind, switches] : tiers) {
      places_.take(strip_of(frame_, switches));
    }
    for (const PodPicture& pod : frame_.picture->pods()) {
      name_pod(pod);
    }
    for (const Trunk& trunk : frame_.picture->trunks()) {
      take_line(trunk);
    }
    for (const auto& [kind, switches] : tiers) {
      name_tier(kind, switches);
    }
    for (const Trunk& trunk : frame_.picture->trunks()) {
      write_load(trunk);
    }
  }

 private:
  // In the frame's band for it, or where that is too low beyond the frame.
  void name_pod(const PodPicture& pod) {
    const QRectF area = pixels(frame_, pod.frame);
    if (area.width() < kNameFrom || !area.intersects(window(frame_))) {
      return;
    }
    constexpr double kLeft = 3.0;
    const QString name =
        metrics_.elidedText(QString::fromStdString(pod.name), Qt::ElideRight, area.width() - 2.0 * kLeft);
    const QSizeF size(metrics_.horizontalAdvance(name) + 1.0, metrics_.height());
    double below = pod.lattice.top();
    for (const std::vector<VertexId>* strip : {&pod.leaves, &pod.spines}) {
      below = strip->empty() ? below : std::min(below, frame_.picture->rect(strip->front())->top());
    }
    const double room = (below - pod.frame.top()) * frame_.view.scale;
    if (room >= size.height()) {
      write(QRectF(area.topLeft() + QPointF(kLeft, 1.0), size), name, frame_.theme.text);
    } else if (const auto place = places_.place({QRectF(area.topLeft() + QPointF(0.0, -size.height()), size),
                                                 QRectF(area.bottomLeft() + QPointF(0.0, 1.0), size)})) {
      write(*place, name, frame_.theme.text);
    }
  }

  // No label lies on a trunk that stands upright; slanted ones are many and labels beside them rare.
  void take_line(const Trunk& trunk) {
    const QPointF a = pixel(frame_, trunk.begin);
    const QPointF b = pixel(frame_, trunk.end);
    if (a.x() == b.x()) {
      constexpr double kHalfWidth = 3.0;
      places_.take(QRectF(a, b).normalized().adjusted(-kHalfWidth, 0.0, kHalfWidth, 0.0));
    }
  }

  void name_tier(VertexKind kind, const std::vector<VertexId>& switches) {
    const QRectF strip = strip_of(frame_, switches);
    const QString text =
        QStringLiteral("%1 × %2").arg(switches.size()).arg(QString::fromStdString(std::string(to_string(kind))));
    const QSizeF size(metrics_.horizontalAdvance(text) + 1.0, metrics_.height());
    constexpr double kGap = 6.0;
    const double left = std::max(strip.left(), kGap);
    const double middle = strip.center().y() - size.height() / 2.0;
    if (const auto place = places_.place(
            {QRectF(QPointF(left, strip.top() - size.height() - 1.0), size),
             QRectF(QPointF(strip.left() - size.width() - kGap, middle), size),
             QRectF(QPointF(strip.right() + kGap, middle), size), QRectF(QPointF(left, strip.bottom() + 1.0), size),
             QRectF(QPointF(strip.right() - size.width(), strip.top() - size.height() - 1.0), size)})) {
      write(*place, text, frame_.theme.muted);
    }
  }

  void write_load(const Trunk& trunk) {
    if (!frame_.links->known() || trunk.from != kAbove) {
      return;
    }
    const QPointF middle = (pixel(frame_, trunk.begin) + pixel(frame_, trunk.end)) / 2.0;
    const QString text = QStringLiteral("%1 %").arg(std::lround(100.0 * load_of(frame_, trunk)));
    const QSizeF size(metrics_.horizontalAdvance(text) + 1.0, metrics_.height());
    constexpr double kGap = 8.0;
    const double top = middle.y() - size.height() / 2.0;
    if (const auto place = places_.place({QRectF(QPointF(middle.x() + kGap, top), size),
                                          QRectF(QPointF(middle.x() - kGap - size.width(), top), size)})) {
      write(*place, text, frame_.theme.text);
    }
  }

  void write(const QRectF& place, const QString& text, const QColor& colour) {
    painter_.setPen(colour);
    painter_.drawText(place, Qt::AlignLeft | Qt::AlignVCenter | Qt::TextDontClip, text);
  }

  QPainter& painter_;
  const TopologyFrame& frame_;
  QFontMetricsF metrics_;
  LabelPlaces places_;
};

}  // namespace

double load_width(double busy) { return 1.0 + 4.0 * std::clamp(busy, 0.0, 1.0); }

std::vector<float> gpu_loads(const Cluster& cluster, const ClusterPicture& picture, const LinkValues& links) {
  const std::vector<VertexId> gpus = cluster.gpus();
  std::vector<float> loads(gpus.size(), 0.0F);
  if (!links.known()) {
    return loads;
  }
  std::vector<std::int32_t> rank_of(cluster.vertices().size(), -1);
  for (std::size_t rank = 0; rank < gpus.size(); ++rank) {
    rank_of[gpus[rank].at()] = static_cast<std::int32_t>(rank);
  }
  // A NIC counts for the GPU whose cell it is drawn at.
  for (std::size_t v = 0; v < cluster.vertices().size(); ++v) {
    if (cluster.vertices()[v].kind == VertexKind::kNic && !picture.whole()) {
      const auto rank = picture.rank_at(picture.anchor(VertexId(static_cast<std::int64_t>(v))));
      rank_of[v] = rank ? rank->value() : -1;
    }
  }
  for (std::size_t l = 0; l < cluster.links().size(); ++l) {
    for (const VertexId end : {cluster.links()[l].from, cluster.links()[l].to}) {
      if (rank_of[end.at()] >= 0) {
        float& load = loads[static_cast<std::size_t>(rank_of[end.at()])];
        load = std::max(load, links.busy[l]);
      }
    }
  }
  return loads;
}

PodTile tile_of(const PodPicture& pod, const std::vector<float>& loads, const GpuColours& colours, const Theme& theme) {
  std::array<QRgb, 257> ramp = {};
  for (std::size_t i = 0; i < ramp.size(); ++i) {
    ramp[i] = theme.ramp(static_cast<double>(i) / 256.0).rgb();
  }
  std::vector<TileCell> cells(pod.cells.size());
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const std::int32_t rank = pod.cells[i];
    if (rank < 0) {
      continue;
    }
    const auto r = static_cast<std::size_t>(rank);
    if (colours.category.empty() && loads.empty()) {
      cells[i].colour = theme.missing.rgb();
    } else if (colours.category.empty()) {
      const float busy = std::clamp(loads[r], 0.0F, 1.0F);
      cells[i] = {ramp[static_cast<std::size_t>(busy * 256.0F)], loads[r]};
    } else if (r < colours.category.size() && colours.category[r] >= 0) {
      cells[i].colour = theme.cell(static_cast<std::size_t>(colours.category[r])).colour.rgb();
    } else {
      cells[i].colour = theme.missing.rgb();
    }
  }
  return PodTile(pod.columns, pod.rows, cells);
}

void paint_topology(QPainter& painter, const TopologyFrame& frame) {
  painter.setFont(frame.font);
  painter.setRenderHint(QPainter::Antialiasing, false);
  painter.fillRect(window(frame), frame.theme.background);
  SwitchLoads loads(frame);
  loads.prepare();
  if (frame.picture->whole()) {
    draw_single_links(painter, frame);
    draw_devices(painter, frame, loads);
    draw_selection(painter, frame);
    return;
  }
  draw_trunks(painter, frame);
  for (std::size_t pod = 0; pod < frame.picture->pods().size(); ++pod) {
    draw_pod(painter, frame, pod, loads);
  }
  for (const auto& [kind, switches] : tiers_of(frame)) {
    draw_strip(painter, frame, switches, loads);
  }
  draw_single_links(painter, frame);
  Labels(painter, frame).draw();
  draw_selection(painter, frame);
}

QString device_text(const Cluster& cluster, VertexId device) {
  const Vertex& of = cluster.vertex(device);
  QString text = QStringLiteral("<b>%1</b><br>%2")
                     .arg(QString::fromStdString(of.name).toHtmlEscaped(),
                          QString::fromStdString(std::string(to_string(of.kind))));
  const DeviceType& type = cluster.type(device);
  if (!type.name.empty()) {
    text += QStringLiteral(", %1").arg(QString::fromStdString(type.name).toHtmlEscaped());
  }
  for (const auto& [name, value] :
       {std::pair("rail", of.rail), std::pair("plane", of.plane), std::pair("pod", of.pod)}) {
    if (value) {
      text += QStringLiteral("<br>%1 %2").arg(QLatin1String(name)).arg(*value);
    }
  }
  return text;
}

QString link_text(const Cluster& cluster, LinkId id, const LinkValues& links) {
  const Link& link = cluster.link(id);
  QString text = QStringLiteral("%1 – %2, %3")
                     .arg(QString::fromStdString(cluster.vertex(link.from).name),
                          QString::fromStdString(cluster.vertex(link.to).name),
                          QString::fromStdString(format_quantity(link.bandwidth)));
  if (links.known()) {
    text += QStringLiteral(", busy %1 % of the time").arg(100.0 * static_cast<double>(links.of(id)), 0, 'f', 1);
  }
  return text;
}

}  // namespace trainyard::gui
