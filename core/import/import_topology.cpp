#include "core/import/import_topology.h"

#include "core/document/read_file.h"
#include "core/error.h"
#include "core/import/astra_sim.h"
#include "core/import/detect.h"
#include "core/import/hwloc_xml.h"
#include "core/import/ibnetdiscover.h"
#include "core/import/limits.h"
#include "core/import/nccl_xml.h"
#include "core/import/netq.h"
#include "core/import/nvidia_smi_topo.h"
#include "core/import/simai.h"
#include "core/import/slurm_topology.h"
#include "core/import/topograph_yaml.h"

namespace trainyard {

namespace {

[[noreturn]] void refuse(TopologyKind kind, const std::string& where) {
  if (kind == TopologyKind::kNcclTestsResult) {
    throw Error("is a result of nccl-tests or a like benchmark, not a topology", where,
                "`trainyard validate --anchor` takes measured results");
  }
  if (kind == TopologyKind::kNcclLog) {
    throw Error("is a log of NCCL, not a topology", where,
                "hand in the dump that NCCL_TOPO_DUMP_FILE=topo.xml makes; `trainyard validate --anchor` takes results "
                "of nccl-tests");
  }
  const std::string hint = "known kinds: " + importable_kinds() + "; `trainyard collect` gathers them on a node";
  if (kind == TopologyKind::kOtherXml) {
    throw Error("is XML, but neither NCCL's <system> nor hwloc's <topology>", where, hint);
  }
  throw Error(kind == TopologyKind::kOtherJson ? "is JSON of an unknown kind" : "is no kind of topology that is known",
              where, hint);
}

}  // namespace

Cluster import_topology(std::string_view text, const std::string& where) {
  const TopologyKind kind = detect_topology(text);
  switch (kind) {
    case TopologyKind::kTopology:
      return parse_topology(std::string(text), where);
    case TopologyKind::kNcclXml:
      return import_nccl_xml(text, where);
    case TopologyKind::kHwlocXml:
      return import_hwloc_xml(text, where);
    case TopologyKind::kNvidiaSmiTopo:
      return import_nvidia_smi_topo(text, where);
    case TopologyKind::kIbnetdiscover:
      return import_ibnetdiscover(text, where);
    case TopologyKind::kSlurm:
      return import_slurm_topology(text, where);
    case TopologyKind::kNetq:
      return import_netq(text, where);
    case TopologyKind::kTopographYaml:
      return import_topograph_yaml(text, where);
    case TopologyKind::kSimai:
      return import_simai(text, where);
    case TopologyKind::kAstraSim:
      return import_astra_sim(text, where);
    default:
      refuse(kind, where);
  }
}

std::string importable_kinds() {
  std::string names;
  for (int i = 0; i < kTopologyKinds; ++i) {
    names += names.empty() ? "" : ", ";
    names += to_string(static_cast<TopologyKind>(i));
  }
  return names;
}

Cluster read_any_topology(const std::filesystem::path& file) {
  return import_topology(read_text_file(file, kImportFileLimit), file.string());
}

}  // namespace trainyard
