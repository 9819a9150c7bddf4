// TopologyPainter: one frame of a cluster, on a window or into a file, at the detail that the scale allows.
//
//   below 3 pixels a GPU   pods as pictures, a texel a GPU or the worst of several
//   3 to 9                 hosts (or NVLink domains) framed
//   9 to 40                single GPUs
//   above                  with name and load, NICs beneath
//
// Links between pods are trunks: as wide and as coloured as the fullest of them is loaded, the number beside. Single
// links only where they say something: those that are selected or belong to what is, the fullest ones, or all where
// there are few. Everything is in device coordinates, so that text keeps its size and nothing depends on a transform.
#pragma once

#include <QColor>
#include <QFont>
#include <QPointF>
#include <QRectF>
#include <QSize>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/cluster/cluster.h"
#include "gui/paint/cluster_picture.h"
#include "gui/paint/plane_view.h"
#include "gui/paint/pod_tile.h"
#include "gui/paint/theme.h"

class QPainter;

namespace trainyard::gui {

// Share of the time that the busier direction of each link is at work; empty where no loads are known.
struct LinkValues {
  std::vector<float> busy;  // by link
  float of(LinkId link) const { return link.at() < busy.size() ? busy[link.at()] : 0.0F; }
  double fullest(const std::vector<LinkId>& links) const;
  bool known() const { return !busy.empty(); }
};

// What GPUs are coloured by: their links' load, or a category each.
struct GpuColours {
  std::vector<std::int32_t> category;  // by rank; -1: none; empty: by load
  std::vector<std::string> names;      // of the first categories, for the legend
  std::string title;                   // "tensor-parallel group"
};

// The load of each GPU's own links and its NIC's: the worst of them.
std::vector<float> gpu_loads(const Cluster& cluster, const ClusterPicture& picture, const LinkValues& links);
// A pod's GPUs as coloured cells. No loads: none are known yet.
PodTile tile_of(const PodPicture& pod, const std::vector<float>& loads, const GpuColours& colours, const Theme& theme);

struct TopologyFrame {
  const Cluster* cluster = nullptr;
  const ClusterPicture* picture = nullptr;
  const LinkValues* links = nullptr;
  const std::vector<float>* loads = nullptr;  // by rank; empty: not known
  const GpuColours* colours = nullptr;
  const std::vector<PodTile>* tiles = nullptr;   // by pod
  const std::vector<LinkId>* fullest = nullptr;  // worth a line of their own
  const std::vector<LinkId>* selected_links = nullptr;
  const std::vector<Rank>* selected_ranks = nullptr;  // sorted
  std::optional<VertexId> selected_device;
  PlaneView view;
  QSize size;
  Theme theme;
  QFont font;
  bool to_file = false;

  // From the plane to device coordinates.
  QRectF pixels(const QRectF& rect) const;
  QPointF pixel(QPointF point) const;
  QRectF window() const;
  QColor load_colour(double busy) const;
};

void paint_topology(QPainter& painter, const TopologyFrame& frame);

// Width of a line by load: a cue beside its colour.
double load_width(double busy);

}  // namespace trainyard::gui
