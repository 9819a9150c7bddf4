#include "cli/topology_report.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/cluster/cable_data.h"
#include "core/cluster/graph.h"

namespace trainyard::cli {

namespace {

using nlohmann::ordered_json;

ordered_json to_json(const Cables& cables) {
  return {{"cables", cables.count}, {"bandwidth_bytes_per_second", cables.bandwidth.si()}};
}

ordered_json to_json(const std::vector<Tier>& tiers) {
  ordered_json list = ordered_json::array();
  for (const Tier& tier : tiers) {
    ordered_json object;
    object["kind"] = std::string(to_string(tier.kind));
    object["count"] = tier.count;
    object["types"] = ordered_json::object();
    for (const auto& [type, count] : tier.types) {
      object["types"][type] = count;
    }
    object["down"] = to_json(tier.down);
    object["up"] = to_json(tier.up);
    object["within"] = to_json(tier.within);
    const std::optional<double> ratio = tier.oversubscription();
    object["oversubscription"] = ratio ? ordered_json(*ratio) : ordered_json();
    list.push_back(std::move(object));
  }
  return list;
}

ordered_json to_json(const Bisection& bisection) {
  ordered_json object;
  object["bandwidth_bytes_per_second"] = bisection.bandwidth.si();
  object["ports_bytes_per_second"] = bisection.ports.si();
  object["share"] = bisection.share();
  object["cut"] = ordered_json::array();
  for (const CutLinks& links : bisection.cut) {
    object["cut"].push_back({{"from", std::string(to_string(links.from))},
                             {"to", std::string(to_string(links.to))},
                             {"cables", links.cables},
                             {"bandwidth_bytes_per_second", links.bandwidth.si()}});
  }
  return object;
}

ordered_json device_counts(const Cluster& cluster) {
  ordered_json object = ordered_json::object();
  for (int kind = 0; kind < kVertexKinds; ++kind) {
    const std::size_t count = cluster.of_kind(static_cast<VertexKind>(kind)).size();
    if (count > 0) {
      object[std::string(to_string(static_cast<VertexKind>(kind)))] = count;
    }
  }
  return object;
}

ordered_json to_json(const RangedSeconds& range) {
  return {{"value", range.value.si()}, {"low", range.low.si()}, {"high", range.high.si()}, {"source", range.source}};
}

ordered_json cables_json(const std::vector<CableLatency>& cables) {
  ordered_json list = ordered_json::array();
  for (const CableLatency& of : cables) {
    list.push_back({{"type", std::string(to_string(of.cable.type))},
                    {"length_m", of.cable.length_m},
                    {"count", of.count},
                    {"latency_s", to_json(of.latency)}});
  }
  return list;
}

// Of device types that models/cables/devices.json has a range for.
ordered_json hops_json(const Cluster& cluster) {
  const DeviceTable table = builtin_devices();
  ordered_json object = ordered_json::object();
  for (const DeviceType& type : cluster.device_types()) {
    for (const DeviceFigures& known : table.devices) {
      if (known.type.name == type.name && known.hop_latency && known.type.hop_latency == type.hop_latency) {
        object[type.name] = to_json(*known.hop_latency);
      }
    }
  }
  return object;
}

}  // namespace

std::vector<CableLatency> cable_latencies(const Cluster& cluster) {
  const CableTable table = builtin_cables();
  std::vector<CableLatency> cables;
  for (const Cable& cable : cluster.cables()) {
    cables.push_back({cable, 0, table.latency_range(cable)});
  }
  for (const Link& link : cluster.links()) {
    if (link.cable) {
      cables[link.cable->at()].count += link.width;
    }
  }
  std::stable_sort(cables.begin(), cables.end(),
                   [](const CableLatency& a, const CableLatency& b) { return a.count > b.count; });
  return cables;
}

TopologyReport analyse(const Cluster& cluster, const std::function<void(const std::string&)>& stage) {
  stage("tiers");
  const ClusterGraph graph(cluster);
  TopologyReport report;
  report.backend = tiers(cluster, Network::kBackend);
  report.frontend = tiers(cluster, Network::kFrontend);
  report.rails = rails(cluster);
  stage("bisection");
  report.bisection = bisection(cluster);
  stage("paths");
  if (!cluster.gpus().empty()) {
    report.paths = path_groups(cluster, graph, Rank(0));
  }
  stage("single points of failure");
  report.cut_points = cut_points(cluster);
  report.cables = cable_latencies(cluster);
  stage("what looks odd");
  report.findings = lint(cluster, graph);
  report.shapes = node_shapes(cluster);
  return report;
}

ordered_json to_json(const TopologyReport& report, const Cluster& cluster) {
  ordered_json object;
  object["name"] = cluster.name;
  object["congestion_control"] =
      cluster.congestion_control ? ordered_json(std::string(to_string(*cluster.congestion_control))) : ordered_json();
  object["gpus"] = cluster.gpus().size();
  object["nodes"] = cluster.nodes().size();
  object["devices"] = device_counts(cluster);
  object["links"] = cluster.links().size();
  object["notes"] = cluster.notes;
  object["backend"] = to_json(report.backend);
  object["frontend"] = to_json(report.frontend);
  object["rails"] = {{"count", report.rails.count}, {"optimised", report.rails.optimised}};
  object["bisection"] = report.bisection ? to_json(*report.bisection) : ordered_json();
  object["paths_from_rank_0"] = ordered_json::array();
  for (const PathGroup& group : report.paths) {
    object["paths_from_rank_0"].push_back({{"ranks", group.ranks},
                                           {"example_rank", group.example.value()},
                                           {"cables", group.paths.cables},
                                           {"paths", group.paths.paths}});
  }
  object["single_points_of_failure"] = ordered_json::array();
  for (const CutPoint& point : report.cut_points) {
    object["single_points_of_failure"].push_back({{"name", cluster.vertex(point.vertex).name},
                                                  {"kind", std::string(to_string(cluster.vertex(point.vertex).kind))},
                                                  {"gpus_cut_off", point.gpus},
                                                  {"nics_cut_off", point.nics}});
  }
  object["lint"] = ordered_json::array();
  for (const Finding& finding : report.findings) {
    object["lint"].push_back(
        {{"kind", std::string(to_string(finding.kind))}, {"what", finding.what}, {"names", finding.names}});
  }
  object["cables"] = cables_json(report.cables);
  object["hop_latencies"] = hops_json(cluster);
  object["host_shapes"] = ordered_json::array();
  for (const NodeShape& shape : report.shapes) {
    ordered_json parts = ordered_json::object();
    for (const auto& [part, count] : shape.parts) {
      parts[part] = count;
    }
    object["host_shapes"].push_back({{"hosts", shape.nodes.size()},
                                     {"example", cluster.nodes()[shape.nodes.front().at()]},
                                     {"parts", std::move(parts)}});
  }
  return object;
}

ordered_json to_json(const ClusterDifference& difference) {
  ordered_json object;
  object["equal"] = difference.empty();
  object["counts"] = ordered_json::array();
  for (const CountChange& change : difference.counts) {
    object["counts"].push_back({{"what", change.what}, {"left", change.left}, {"right", change.right}});
  }
  object["only_left"] = difference.only_left;
  object["only_right"] = difference.only_right;
  object["links"] = ordered_json::array();
  for (const LinkChange& change : difference.links) {
    object["links"].push_back({{"ends", change.ends}, {"left", change.left}, {"right", change.right}});
  }
  object["hosts"] = ordered_json::array();
  for (const ShapeChange& change : difference.shapes) {
    object["hosts"].push_back({{"what", change.what}, {"names", change.hosts}});
  }
  return object;
}

}  // namespace trainyard::cli
