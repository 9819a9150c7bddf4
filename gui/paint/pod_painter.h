// PodPainter: a pod in a cluster's picture: its GPUs as texels or cells, the hosts that frame them, its switches.
#pragma once

#include <QString>
#include <cstddef>
#include <string>
#include <vector>

#include "core/cluster/cluster.h"

class QPainter;

namespace trainyard::gui {

struct TopologyFrame;

// The worst load at a switch, of all its links.
class SwitchLoads {
 public:
  explicit SwitchLoads(const TopologyFrame& frame);
  double of(VertexId id) const { return worst_.empty() ? 0.0 : static_cast<double>(worst_[id.at()]); }

 private:
  std::vector<float> worst_;  // by vertex; empty where no loads are known
};

// "leaf0" of "su0/leaf0".
QString short_name(const std::string& name);

// A row of switches: boxes while they have pixels, else a band of columns that each show their worst.
void draw_strip(QPainter& painter, const TopologyFrame& frame, const std::vector<VertexId>& switches,
                const SwitchLoads& loads);

// At the detail that the scale allows.
void draw_pod(QPainter& painter, const TopologyFrame& frame, std::size_t index, const SwitchLoads& loads);

}  // namespace trainyard::gui
