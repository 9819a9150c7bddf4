#include "gui/paint/pod_painter.h"

#include <QFontMetricsF>
#include <QPainter>
#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "gui/paint/hatch.h"
#include "gui/paint/topology_painter.h"

namespace trainyard::gui {

namespace {

constexpr double kLabelRoom = 34.0;  // pixels wide: a switch with a name

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
      frame.pixels(QRectF(pod.lattice.topLeft(), QSizeF(image.width() * cells, image.height() * cells)));
  painter.save();
  painter.setClipRect(frame.pixels(pod.lattice).intersected(frame.window()));
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
  const QRectF area = frame.pixels(pod.lattice);
  const QRectF shown = area.intersected(frame.window());
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
    const QRectF area = frame.pixels(
        QRectF(pod.lattice.left() + block.column, pod.lattice.top() + block.row, block.columns, block.rows));
    if (area.intersects(frame.window())) {
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
  const QRectF shown = frame.window();
  for (int row = 0; row < pod.rows; ++row) {
    for (int column = 0; column < pod.columns; ++column) {
      const std::int32_t rank = pod.cells[static_cast<std::size_t>(row) * static_cast<std::size_t>(pod.columns) +
                                          static_cast<std::size_t>(column)];
      const QRectF cell = frame.pixels(QRectF(pod.lattice.left() + column, pod.lattice.top() + row, 1.0, 1.0));
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
  const QRectF shown = frame.window();
  for (int row = 0; row < pod.rows; ++row) {
    for (int column = 0; column < pod.columns; ++column) {
      const std::int32_t rank = pod.cells[static_cast<std::size_t>(row) * static_cast<std::size_t>(pod.columns) +
                                          static_cast<std::size_t>(column)];
      const std::int32_t group = rank < 0 ? -1 : frame.colours->category[static_cast<std::size_t>(rank)];
      if (group < 0) {
        continue;
      }
      const CellLook look = frame.theme.cell(static_cast<std::size_t>(group));
      const QRectF cell = frame.pixels(QRectF(pod.lattice.left() + column, pod.lattice.top() + row, 1.0, 1.0));
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

}  // namespace

SwitchLoads::SwitchLoads(const TopologyFrame& frame) {
  if (!frame.links->known()) {
    return;
  }
  worst_.assign(frame.cluster->vertices().size(), 0.0F);
  for (std::size_t l = 0; l < frame.cluster->links().size(); ++l) {
    const Link& link = frame.cluster->links()[l];
    const float busy = frame.links->busy[l];
    worst_[link.from.at()] = std::max(worst_[link.from.at()], busy);
    worst_[link.to.at()] = std::max(worst_[link.to.at()], busy);
  }
}

QString short_name(const std::string& name) {
  const std::size_t slash = name.rfind('/');
  return QString::fromStdString(slash == std::string::npos ? name : name.substr(slash + 1));
}

void draw_strip(QPainter& painter, const TopologyFrame& frame, const std::vector<VertexId>& switches,
                const SwitchLoads& loads) {
  if (switches.empty()) {
    return;
  }
  const QRectF first = frame.pixels(*frame.picture->rect(switches.front()));
  const QRectF last = frame.pixels(*frame.picture->rect(switches.back()));
  const QRectF all = first.united(last);
  if (!all.intersects(frame.window()) || all.height() < 0.7) {
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
      painter.fillRect(QRectF(x, all.top(), 1.0, std::max(all.height(), 1.0)), frame.load_colour(busy));
    }
    return;
  }
  const QFontMetricsF metrics(frame.font);
  for (const VertexId id : switches) {
    const QRectF box = frame.pixels(*frame.picture->rect(id));
    if (!box.intersects(frame.window())) {
      continue;
    }
    const QColor colour = frame.load_colour(loads.of(id));
    painter.fillRect(box, colour);
    if (box.width() > kLabelRoom && box.height() > metrics.height()) {
      painter.setPen(readable_on(colour));
      painter.drawText(
          box, Qt::AlignCenter,
          metrics.elidedText(short_name(frame.cluster->vertex(id).name), Qt::ElideRight, box.width() - 4.0));
    }
  }
}

void draw_pod(QPainter& painter, const TopologyFrame& frame, std::size_t index, const SwitchLoads& loads) {
  const PodPicture& pod = frame.picture->pods()[index];
  const QRectF area = frame.pixels(pod.frame);
  if (!area.intersects(frame.window())) {
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

}  // namespace trainyard::gui
