// trainyard topology: what a cluster's fabric is made of, what it carries and what its weak points are.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "cli/exit_code.h"
#include "cli/file_arguments.h"
#include "cli/json/output.h"
#include "cli/long_answer.h"
#include "cli/text/counted.h"
#include "cli/text/table.h"
#include "cli/topology_report.h"
#include "cli/verbs.h"
#include "core/cluster/builder.h"
#include "core/cluster/draw/folded.h"
#include "core/document/write_file.h"
#include "core/error.h"
#include "core/import/open_cluster.h"
#include "core/units/format_quantity.h"

namespace trainyard::cli {

namespace {

using nlohmann::ordered_json;

constexpr std::size_t kMostLines = 12;  // of a list; --json has all
constexpr std::size_t kMostNames = 4;   // of devices in a line

struct Options {
  std::string cluster;
  std::string node;
  std::string other;
  std::string svg;
  std::string dot;
  std::string output;
  bool list = false;
};

Cluster open(const std::string& word, const std::string& node) {
  return open_cluster(word, node.empty() ? std::nullopt : std::optional<std::filesystem::path>(node));
}

// ---- --list

void print_builders(const Session& session) {
  for (const BuilderInfo& info : cluster_builders()) {
    fmt::print("{}\n  {}\n", session.out.bold(info.name), wrap(info.what, session.out.columns() - 2, 2));
    for (const BuilderKey& key : info.keys) {
      fmt::print("    {:<24} {}\n", fmt::format("{}={}", key.name, key.fallback),
                 wrap(key.what, session.out.columns() - 29, 29));
    }
  }
  fmt::print("\nA cluster is NAME or NAME:key=value,...; the values above are what holds without the key.\n");
}

ordered_json builders_json() {
  ordered_json object;
  object["builders"] = ordered_json::array();
  for (const BuilderInfo& info : cluster_builders()) {
    ordered_json keys = ordered_json::array();
    for (const BuilderKey& key : info.keys) {
      keys.push_back({{"name", key.name}, {"what", key.what}, {"default", key.fallback}});
    }
    object["builders"].push_back({{"name", info.name}, {"what", info.what}, {"keys", std::move(keys)}});
  }
  return object;
}

// ---- The report

std::string ratio_text(std::optional<double> ratio) { return ratio ? fmt::format("{:.3g}:1", *ratio) : ""; }

std::string cables_text(const Cables& cables) {
  return cables.count == 0 ? "" : fmt::format("{}, {}", cables.count, format_quantity(cables.bandwidth));
}

Table tier_table(const std::string& network, const std::vector<Tier>& tiers) {
  Table table({network, "devices", "cables up", "within", "down to up", "type"},
              {Align::kLeft, Align::kRight, Align::kRight, Align::kRight, Align::kRight, Align::kLeft});
  for (const Tier& tier : tiers) {
    std::string types;
    for (const auto& [type, count] : tier.types) {
      types += types.empty() ? "" : ", ";
      types += tier.types.size() > 1 ? fmt::format("{} {}", count, type) : type;
    }
    table.add_row({std::string(to_string(tier.kind)), std::to_string(tier.count), cables_text(tier.up),
                   cables_text(tier.within), ratio_text(tier.oversubscription()), types});
  }
  return table;
}

void print_bisection(const Bisection& bisection) {
  fmt::print("Halves of the hosts, in rank order, exchange {} ({:.3g} of what their ports could).",
             format_quantity(bisection.bandwidth), bisection.share());
  std::string cut;
  for (const CutLinks& links : bisection.cut) {
    cut += fmt::format("{}{} {}-{}", cut.empty() ? "" : ", ", links.cables, to_string(links.from), to_string(links.to));
  }
  fmt::print("{}\n", cut.empty() ? "" : " Smallest cut: " + cut + ".");
}

void print_paths(const Session& session, const std::vector<PathGroup>& paths) {
  Table table({"from rank 0 to", "cables", "equal paths", "for example"},
              {Align::kLeft, Align::kRight, Align::kRight, Align::kLeft});
  for (const PathGroup& group : paths) {
    const bool none = group.paths.cables == 0;
    table.add_row({counted(group.ranks, "rank"), none ? "-" : std::to_string(group.paths.cables),
                   none ? "none: over NVLink first" : fmt::format("{:.0f}", group.paths.paths),
                   fmt::format("rank {}", group.example.value())});
  }
  fmt::print("\n{}", table.text(session.out));
}

// Devices of one kind that cut off equally much are one line.
void print_cut_points(const Cluster& cluster, const std::vector<CutPoint>& points) {
  if (points.empty()) {
    fmt::print("\nNo single switch cuts off a GPU or a NIC.\n");
    return;
  }
  std::map<std::tuple<std::int64_t, std::int64_t, VertexKind>, std::vector<VertexId>> alike;
  for (const CutPoint& point : points) {
    alike[{-point.gpus, -point.nics, cluster.vertex(point.vertex).kind}].push_back(point.vertex);
  }
  fmt::print("\nSingle points of failure:\n");
  std::size_t lines = 0;
  for (const auto& [key, vertices] : alike) {
    if (++lines > kMostLines) {
      fmt::print("  and more: see --json\n");
      break;
    }
    const auto& [gpus, nics, kind] = key;
    const std::string effect = gpus != 0 ? fmt::format("cuts off {}", counted(-gpus, "GPU"))
                                         : fmt::format("cuts off {}; their hosts have others", counted(-nics, "NIC"));
    fmt::print("  {} {}{}: {}{}\n", vertices.size(), to_string(kind), vertices.size() > 1 ? ", each alone" : "", effect,
               fmt::format(" ({}{})", cluster.vertex(vertices.front()).name, vertices.size() > 1 ? ", ..." : ""));
  }
}

std::string names_text(const std::vector<std::string>& all) {
  std::string names;
  for (std::size_t i = 0; i < all.size() && i < kMostNames; ++i) {
    names += (i == 0 ? "" : ", ") + all[i];
  }
  return all.size() > kMostNames ? names + fmt::format(" and {} more", all.size() - kMostNames) : names;
}

void print_findings(const Session& session, const std::vector<Finding>& findings) {
  if (findings.empty()) {
    fmt::print("\nNothing looks wrong.\n");
    return;
  }
  fmt::print("\nWorth a look:\n");
  for (std::size_t i = 0; i < findings.size() && i < kMostLines; ++i) {
    const Finding& finding = findings[i];
    fmt::print("  {}\n",
               wrap(fmt::format("{}: {}: {}", to_string(finding.kind), names_text(finding.names), finding.what),
                    session.out.columns() - 4, 4));
  }
  if (findings.size() > kMostLines) {
    fmt::print("  and {} more: see --json\n", findings.size() - kMostLines);
  }
}

void print_cables(const Session& session, const std::vector<CableLatency>& cables) {
  constexpr std::size_t kMostCables = 4;
  std::string text;
  for (std::size_t i = 0; i < cables.size() && i < kMostCables; ++i) {
    const CableLatency& of = cables[i];
    std::string type(to_string(of.cable.type));
    std::replace(type.begin(), type.end(), '_', ' ');
    text += fmt::format("{}{} of {:g} m {}, {} ({} to {})", i == 0 ? "" : "; ", of.count, of.cable.length_m, type,
                        format_quantity(of.latency.value), format_quantity(of.latency.low),
                        format_quantity(of.latency.high));
  }
  if (cables.size() > kMostCables) {
    text += fmt::format("; {} kinds more", cables.size() - kMostCables);
  }
  if (!text.empty()) {
    fmt::print("\n{}\n", wrap("Cables and their latency one way: " + text, session.out.columns(), 2));
  }
}

void print_report(const Session& session, const Cluster& cluster, const TopologyReport& report) {
  fmt::print(
      "{}: {} on {}{}{}\n", session.out.bold(cluster.name.empty() ? "cluster" : cluster.name),
      counted(static_cast<std::int64_t>(cluster.gpus().size()), "GPU"),
      counted(static_cast<std::int64_t>(cluster.nodes().size()), "host"),
      report.rails.count > 0 ? fmt::format(", {}", counted(report.rails.count, "rail")) : "",
      report.rails.count > 0 ? (report.rails.optimised ? " (a leaf serves one)" : " (leaves serve several)") : "");
  if (!report.backend.empty()) {
    fmt::print("\n{}", tier_table("back end", report.backend).text(session.out));
  }
  if (!report.frontend.empty()) {
    fmt::print("\n{}", tier_table("front end", report.frontend).text(session.out));
  }
  print_cables(session, report.cables);
  if (report.bisection) {
    fmt::print("\n");
    print_bisection(*report.bisection);
  }
  if (!report.paths.empty()) {
    print_paths(session, report.paths);
  }
  print_cut_points(cluster, report.cut_points);
  print_findings(session, report.findings);
  for (const std::string& note : cluster.notes) {
    fmt::print("{}note: {}\n", &note == &cluster.notes.front() ? "\n" : "", wrap(note, session.out.columns() - 2, 2));
  }
}

// ---- --diff

template <class T, class Text>
void print_list(const char* heading, const std::vector<T>& list, const Text& text) {
  if (list.empty()) {
    return;
  }
  fmt::print("{} ({}):\n", heading, list.size());
  for (std::size_t i = 0; i < list.size() && i < kMostLines; ++i) {
    fmt::print("  {}\n", text(list[i]));
  }
  if (list.size() > kMostLines) {
    fmt::print("  and {} more: see --json\n", list.size() - kMostLines);
  }
}

void print_difference(const Session& session, const ClusterDifference& difference) {
  if (difference.empty()) {
    fmt::print("no difference\n");
    return;
  }
  print_list("Counts that differ", difference.counts, [](const CountChange& change) {
    return fmt::format("{}: {} -> {}", change.what, change.left, change.right);
  });
  const auto itself = [](const std::string& name) { return name; };
  print_list("Only in the first", difference.only_left, itself);
  print_list("Only in the second", difference.only_right, itself);
  print_list("Hosts of another make", difference.shapes, [&](const ShapeChange& change) {
    return wrap(names_text(change.hosts) + ": " + change.what, session.out.columns() - 4, 4);
  });
  print_list("Links that differ", difference.links, [](const LinkChange& change) {
    return fmt::format("{}: {} -> {}", change.ends, change.left.empty() ? "none" : change.left,
                       change.right.empty() ? "none" : change.right);
  });
}

void check_options(const Options& options) {
  const bool more = !options.cluster.empty() || !options.node.empty() || !options.other.empty() ||
                    !options.svg.empty() || !options.dot.empty() || !options.output.empty();
  if (options.list && more) {
    throw Error("lists the builders and takes no cluster or file", "--list", "leave --list out to see a cluster");
  }
  if (!options.list && options.cluster.empty()) {
    throw Error("which cluster?", "CLUSTER", "a topology file or a builder; `trainyard topology --list` names them");
  }
  require_separate_files({{"--svg", options.svg}, {"--dot", options.dot}, {"--output", options.output}},
                         {{"CLUSTER", options.cluster}, {"--node", options.node}, {"--diff", options.other}});
}

// All that was asked for, before any of it is written.
struct Files {
  std::string output;
  std::string svg;
  std::string dot;
};

Files files_of(const Options& options, const Cluster& cluster) {
  Files files;
  if (!options.output.empty()) {
    files.output = to_json(cluster);
  }
  if (!options.svg.empty()) {
    files.svg = to_svg(fold(cluster));
  }
  if (!options.dot.empty()) {
    files.dot = to_dot(fold(cluster));
  }
  return files;
}

void write_files(const Options& options, const Files& files) {
  for (const auto& [file, text] :
       {std::pair(&options.output, &files.output), {&options.svg, &files.svg}, {&options.dot, &files.dot}}) {
    if (!file->empty()) {
      write_file(*file, *text);
    }
  }
}

int topology(const Session& session, const Options& options) {
  check_options(options);
  if (options.list) {
    session.json ? print_json(builders_json()) : print_builders(session);
    return kOk;
  }
  std::optional<LongAnswer> answer(std::in_place, session);
  answer->show("reading " + options.cluster);
  const Cluster cluster = open(options.cluster, options.node);
  answer->show("drawing");
  const Files files = files_of(options, cluster);
  if (!options.other.empty()) {
    answer->show("comparing with " + options.other);
    const ClusterDifference change = difference(cluster, open(options.other, ""));
    answer->commit([&] { write_files(options, files); });
    answer.reset();
    session.json ? print_json(to_json(change)) : print_difference(session, change);
    return kOk;
  }
  const TopologyReport report = analyse(cluster, [&](const std::string& stage) { answer->show(stage); });
  answer->commit([&] { write_files(options, files); });
  answer.reset();
  session.json ? print_json(to_json(report, cluster)) : print_report(session, cluster, report);
  return kOk;
}

}  // namespace

void add_topology(CLI::App& app, Session& session, Action& action) {
  auto options = std::make_shared<Options>();
  CLI::App* verb = add_verb(app, session,
                            {"topology", "Show a cluster's fabric: tiers, cuts, paths, weak points; draw or convert it",
                             "  trainyard topology superpod-h100:su=4 --svg fabric.svg\n"
                             "  trainyard topology ibnetdiscover.out --node nccl-topo.xml --output cluster.json"});
  verb->add_option("CLUSTER", options->cluster, "A topology file of any known kind, or a builder (see --list)");
  verb->add_option("--node", options->node, "File of one node, for the hosts of a fabric's file")->type_name("FILE");
  verb->add_option("--diff", options->other, "Compare with this cluster instead")->type_name("CLUSTER");
  verb->add_option("--svg", options->svg, "Write a drawing here")->type_name("FILE");
  verb->add_option("--dot", options->dot, "Write the drawing for Graphviz here")->type_name("FILE");
  verb->add_option("--output", options->output, "Write the cluster as topology JSON here")->type_name("FILE");
  verb->add_flag("--list", options->list, "List the builders and their keys");
  verb->callback([options, &action] { action = [options](const Session& s) { return topology(s, *options); }; });
}

}  // namespace trainyard::cli
