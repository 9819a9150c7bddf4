#include "gui/paint/topology_painter.h"

#include <QFontMetricsF>
#include <QPainter>
#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "gui/paint/pod_painter.h"
#include "gui/paint/topology_labels.h"

namespace trainyard::gui {

namespace {

constexpr std::size_t kAllLinksUpTo = 700;  // of a cluster: each has a line
constexpr int kLoadSteps = 16;

using Lines = std::map<int, std::vector<QLineF>>;  // by load, in sixteenths; -1: unknown

int load_step(double busy) { return static_cast<int>(std::lround(std::clamp(busy, 0.0, 1.0) * kLoadSteps)); }

// Whether a line may touch the window; its box is enough.
bool seen(const TopologyFrame& frame, QPointF a, QPointF b) {
  const QRectF box = QRectF(a, b).normalized().adjusted(-4, -4, 4, 4);
  return box.intersects(frame.window());
}

void add_link(const TopologyFrame& frame, LinkId id, Lines& lines) {
  const Link& link = frame.cluster->link(id);
  const QPointF a = frame.pixel(frame.picture->anchor(link.from));
  const QPointF b = frame.pixel(frame.picture->anchor(link.to));
  if (seen(frame, a, b)) {
    lines[frame.links->known() ? load_step(static_cast<double>(frame.links->of(id))) : -1].emplace_back(a, b);
  }
}

void draw_lines(QPainter& painter, const TopologyFrame& frame, const Lines& lines) {
  for (const auto& [step, of] : lines) {
    const double busy = std::max(step, 0) / static_cast<double>(kLoadSteps);
    painter.setPen(QPen(frame.load_colour(busy), step < 0 ? 1.0 : load_width(busy)));
    painter.drawLines(of.data(), static_cast<int>(of.size()));
  }
}

void draw_trunks(QPainter& painter, const TopologyFrame& frame) {
  painter.setRenderHint(QPainter::Antialiasing, true);
  for (const Trunk& trunk : frame.picture->trunks()) {
    const QPointF a = frame.pixel(trunk.begin);
    const QPointF b = frame.pixel(trunk.end);
    if (!seen(frame, a, b)) {
      continue;
    }
    const double busy = frame.links->fullest(trunk.links);
    QPen pen(frame.load_colour(busy), frame.links->known() ? 1.0 + 1.6 * load_width(busy) : 2.0);
    pen.setCapStyle(Qt::FlatCap);
    painter.setPen(pen);
    painter.drawLine(a, b);
  }
  painter.setRenderHint(QPainter::Antialiasing, false);
}

void draw_devices(QPainter& painter, const TopologyFrame& frame, const SwitchLoads& loads) {
  const QFontMetricsF metrics(frame.font);
  for (const VertexId id : frame.picture->devices()) {
    const QRectF box = frame.pixels(*frame.picture->rect(id));
    if (!box.intersects(frame.window())) {
      continue;
    }
    const Vertex& of = frame.cluster->vertex(id);
    QColor colour = frame.links->known() ? frame.load_colour(loads.of(id)) : frame.theme.raised;
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
      const QPointF a = frame.pixel(frame.picture->anchor(link.from));
      const QPointF b = frame.pixel(frame.picture->anchor(link.to));
      if (seen(frame, a, b)) {
        painter.setPen(QPen(frame.theme.selection, 3.0 + load_width(static_cast<double>(frame.links->of(id)))));
        painter.drawLine(a, b);
        painter.setPen(QPen(frame.load_colour(static_cast<double>(frame.links->of(id))), 2.0));
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
        const QRectF area = frame.pixels(frame.picture->cell_rect(*cell));
        if (area.intersects(frame.window())) {
          cells.push_back(area.width() < 4.0 ? QRectF(area.center() - QPointF(2, 2), QSizeF(4, 4)) : area);
        }
      }
    }
  }
  painter.drawRects(cells.data(), static_cast<int>(cells.size()));
  if (frame.selected_device) {
    if (const auto rect = frame.picture->rect(*frame.selected_device)) {
      painter.setPen(QPen(frame.theme.selection, 3.0));
      painter.drawRect(frame.pixels(*rect).adjusted(-2, -2, 2, 2));
    }
  }
}

}  // namespace

double LinkValues::fullest(const std::vector<LinkId>& links) const {
  double most = 0.0;
  for (const LinkId link : links) {
    most = std::max(most, static_cast<double>(of(link)));
  }
  return most;
}

QRectF TopologyFrame::pixels(const QRectF& rect) const { return to_pixels(view, rect, size); }
QPointF TopologyFrame::pixel(QPointF point) const { return to_pixel(view, point, size); }
QRectF TopologyFrame::window() const { return {QPointF(0, 0), QSizeF(size)}; }
QColor TopologyFrame::load_colour(double busy) const { return links->known() ? theme.ramp(busy) : theme.axis; }

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
  painter.fillRect(frame.window(), frame.theme.background);
  const SwitchLoads loads(frame);
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
  draw_labels(painter, frame);
  draw_selection(painter, frame);
}

}  // namespace trainyard::gui
