// What a tooltip of a cluster says of a device or a link.
#pragma once

#include <QString>

#include "core/cluster/cluster.h"

namespace trainyard::gui {

struct LinkValues;

// "pod 3", "spine", counts: of a device or a GPU.
QString device_text(const Cluster& cluster, VertexId device);
// Its ends, bandwidth, and where loads are known how busy it is.
QString link_text(const Cluster& cluster, LinkId link, const LinkValues& links);

}  // namespace trainyard::gui
