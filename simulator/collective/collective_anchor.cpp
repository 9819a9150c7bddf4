#include "simulator/collective/collective_anchor.h"

#include <algorithm>

#include "core/error.h"

namespace trainyard::simulator {

namespace {

// Smaller messages take what the host takes, which differs from row to row more than with the size.
constexpr Bytes kSmallest = 1_KiB;

// What the log says of its GPUs, or else its file's name ("p5-2node-allreduce.txt"), and what the user says.
std::string description(const NcclTestsLog& log, const std::string& hardware) {
  std::string text = log.device;
  if (text.empty() && hardware.empty()) {
    text = log.name;
    std::replace_if(
        text.begin(), text.end(), [](char c) { return c == '-' || c == '_'; }, ' ');
  }
  return hardware.empty() || text.empty() ? text + hardware : text + ", " + hardware;
}

void require_no_contradiction(const NcclTestsLog& log, const std::string& hardware) {
  const std::optional<DescribedSite> logged = describe_site(log.device, log.nodes, log.ranks);
  const std::optional<DescribedSite> said = describe_site(hardware, log.nodes, log.ranks);
  if (logged && said && !logged->site.accelerator.empty() && !said->site.accelerator.empty() &&
      logged->site.generation != said->site.generation) {
    throw Error("says " + said->site.accelerator + ", and " + log.name + " is of " + log.device, "--hardware",
                "say only what the log doesn't: its NICs and network");
  }
}

}  // namespace

std::string system_key(const CollectiveSite& site, CollectiveOp op, const std::string& curve_class) {
  return site.accelerator + ": " + std::to_string(site.nodes) + " nodes, " + std::to_string(site.ranks) + " ranks, " +
         std::string(to_string(op)) + ", " + curve_class;
}

std::vector<CollectiveAnchor> make_anchors(const std::vector<NcclTestsLog>& logs, const std::string& hardware,
                                           const CollectiveModels& models) {
  std::map<std::string, std::vector<FitObservation>> systems;
  for (const NcclTestsLog& log : logs) {
    require_no_contradiction(log, hardware);
    const std::string described_by = description(log, hardware);
    const std::optional<DescribedSite> described = describe_site(described_by, log.nodes, log.ranks);
    if (!described) {
      throw Error("no accelerator, instance type or NIC recognised in '" + described_by + "'", "--hardware",
                  "say what the log was measured on, for example \"8x H100, 8x400G InfiniBand\"");
    }
    const CollectiveSite& site = described->site;
    const CurveShape shape = curve_shape(site, log.op, usual_algorithm(site, log.op, models.facts), models.facts);
    const std::string key = system_key(site, log.op, shape.curve_class());
    for (const NcclTestsRow& row : log.rows) {
      if (row.size < kSmallest && log.rows.back().size >= kSmallest) {
        continue;
      }
      systems[key].push_back({shape, row.size, row.size * shape.wire_factor / row.time, key, key});
    }
  }
  std::vector<CollectiveAnchor> anchors;
  for (const auto& [key, observations] : systems) {
    anchors.push_back({key, anchored(models.curves, observations)});
  }
  return anchors;
}

const CurveTable& table_for(const std::vector<CollectiveAnchor>& anchors, const CurveTable& shipped,
                            const std::string& key) {
  const auto found =
      std::find_if(anchors.begin(), anchors.end(), [&](const CollectiveAnchor& anchor) { return anchor.key == key; });
  return found == anchors.end() ? shipped : found->table;
}

}  // namespace trainyard::simulator
