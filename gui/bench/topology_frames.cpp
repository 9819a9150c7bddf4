#include <fmt/format.h>

#include <QApplication>
#include <cmath>

#include "core/cluster/builder.h"
#include "gui/bench/frames.h"
#include "gui/views/topology_widget.h"

namespace trainyard::gui {

namespace {

constexpr double kZoom = 1.08;
constexpr double kClosest = 60.0;  // pixels a GPU

// Loads that differ from link to link, with some hot ones.
LinkValues made_up_loads(const Cluster& cluster) {
  LinkValues values;
  for (std::size_t l = 0; l < cluster.links().size(); ++l) {
    const auto mixed = static_cast<float>((l * 2654435761U) % 1000U) / 1000.0F;
    values.busy.push_back(l % 5003 == 0 ? 0.98F : 0.6F * mixed);
  }
  return values;
}

}  // namespace

std::vector<FrameTimes> topology_frames(const std::string& cluster_spec) {
  const auto cluster = std::make_shared<const Cluster>(build_cluster(cluster_spec));
  TopologyWidget widget;
  widget.resize(1600, 900);
  widget.set_cluster(cluster);
  widget.set_links(made_up_loads(*cluster));
  widget.show();
  QApplication::processEvents();
  widget.fit_all();
  FrameTimes frames;
  frames.name = "topology";
  frames.what = fmt::format("{}: {} GPUs, {} links", cluster_spec, cluster->gpus().size(), cluster->links().size());
  const PlaneView all = widget.view();
  const QPointF target = to_pixel(all, widget.picture()->pods().front().lattice.center(), widget.size());
  const auto draw = [&] {
    widget.repaint();
    frames.ms.push_back(widget.last_frame_ms());
  };
  widget.repaint();
  while (widget.view().scale < kClosest) {
    const QPointF at = to_pixel(widget.view(), to_point(all, target, widget.size()), widget.size());
    widget.zoom_at(at, kZoom);
    draw();
    widget.set_view(panned(widget.view(), QPointF(12, 7), widget.picture()->bounds()));
    draw();
  }
  while (widget.view().scale > all.scale) {
    widget.zoom_at(QPointF(800, 450), 1.0 / kZoom);
    draw();
  }
  return {frames};
}

}  // namespace trainyard::gui
