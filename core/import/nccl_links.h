// Links of GPUs in an NCCL topology XML: nvlink, xgmi and c2c elements. Not a public header.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "core/cluster/cluster.h"
#include "core/import/nccl_devices.h"
#include "core/import/parts.h"

namespace trainyard {

// What the listed devices have become.
struct NcclVertices {
  const std::vector<std::size_t>& gpus;  // listed devices in rank order
  const std::vector<VertexId>& device;   // by listed device
  const std::vector<VertexId>& cpus;
  const std::map<std::string, VertexId>& nvswitches;  // by target
};

// For the notes.
struct NcclLinkCounts {
  int unknown_nvlinks = 0;  // of GPUs of unknown generation
  int unknown_xgmi = 0;
  int to_absent = 0;  // to GPUs that aren't listed
};

std::string link_target(pugi::xml_node link);
bool is_nvswitch_link(pugi::xml_node link);

NcclLinkCounts join_nccl_gpus(const XmlDocument& document, const NcclDevices& listed, const NcclVertices& vertices,
                              const Parts& parts, Cluster& cluster);

}  // namespace trainyard
