// Labels of a cluster's picture: names of pods and of the tiers of switches above them, loads of trunks; each where it
// lies on nothing else, otherwise not at all.
#pragma once

#include <map>
#include <vector>

#include "core/cluster/cluster.h"

class QPainter;

namespace trainyard::gui {

struct TopologyFrame;

// The switches above the pods.
using Tiers = std::map<VertexKind, std::vector<VertexId>>;
Tiers tiers_of(const TopologyFrame& frame);

void draw_labels(QPainter& painter, const TopologyFrame& frame);

}  // namespace trainyard::gui
