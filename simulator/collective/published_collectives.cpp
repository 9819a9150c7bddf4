#include "simulator/collective/published_collectives.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>

#include "core/document/json_document.h"
#include "core/document/text_match.h"
#include "core/error.h"

namespace trainyard::simulator {

namespace {

using nlohmann::json;

// Reads one row's values, collecting the first thing wrong instead of throwing.
class RowReader {
 public:
  RowReader(const json& row, std::string& wrong) : row_(row), wrong_(wrong) {}

  std::string text(const char* key) {
    const auto found = row_.find(key);
    if (found == row_.end() || found->is_null()) {
      return {};
    }
    if (found->is_string()) {
      return found->get<std::string>();
    }
    return found->dump();
  }

  std::optional<double> number(const char* key, double highest) {
    const auto found = row_.find(key);
    if (found == row_.end() || found->is_null()) {
      return std::nullopt;
    }
    const double value = found->is_number() ? found->get<double>() : std::numeric_limits<double>::quiet_NaN();
    if (!(value >= 0.0 && value <= highest)) {
      if (wrong_.empty()) {
        wrong_ = std::string(key) + " is not a number from 0 to " + json(highest).dump();
      }
      return std::nullopt;
    }
    return value;
  }

  std::optional<int> whole(const char* key) {
    const std::optional<double> value = number(key, 1e7);
    if (value && (*value < 1.0 || *value != std::floor(*value))) {
      if (wrong_.empty()) {
        wrong_ = std::string(key) + " is not a whole number above 0";
      }
      return std::nullopt;
    }
    return value ? std::optional<int>(static_cast<int>(*value)) : std::nullopt;
  }

 private:
  const json& row_;
  std::string& wrong_;
};

PublishedCollective read_row(const json& row, std::size_t index) {
  PublishedCollective point;
  point.id = "points/" + std::to_string(index);
  if (!row.is_object()) {
    point.malformed = "the row is not an object";
    return point;
  }
  RowReader reader(row, point.malformed);
  const std::string id = reader.text("id");
  if (!id.empty()) {
    point.id = id;
  }
  point.source = reader.text("source");
  point.hardware = reader.text("hardware");
  point.nodes = reader.whole("nodes");
  point.gpus = reader.whole("gpus");
  point.collective = reader.text("collective");
  point.size_bytes = reader.number("size_bytes", 1e18);
  point.algbw_gbps = reader.number("algbw_GBps", 1e9);
  point.busbw_gbps = reader.number("busbw_GBps", 1e9);
  point.algo = reader.text("algo");
  point.time_us = reader.number("time_us", 1e15);
  point.notes = reader.text("notes");
  return point;
}

// The repository, issue or talk: "owner/name path" -> "owner/name"; "NVIDIA GTC24 S62129 slide 12 (...)" -> the talk.
std::string source_of(const std::string& text) {
  std::string first = text.substr(0, text.find(' '));
  if (contains(first, "/")) {
    return first;
  }
  const std::size_t end = std::min(text.find(" slide"), text.find(" ("));
  return text.substr(0, end);
}

std::string without_parentheses(const std::string& text) {
  return std::regex_replace(text.substr(0, 500), std::regex("\\([^)]*\\)"), " ");
}

// The one algorithm that the text names, or nothing when it names none or several, or says default.
std::optional<NcclAlgorithm> named_algorithm(const std::string& algo) {
  const std::string text = lower_case(without_parentheses(algo));
  if (contains(text, "default")) {
    return std::nullopt;
  }
  std::set<NcclAlgorithm> named;
  const std::regex word("[a-z0-9]+");
  for (auto it = std::sregex_iterator(text.begin(), text.end(), word); it != std::sregex_iterator(); ++it) {
    const std::string token = it->str();
    if (token == "nvlstree") {
      named.insert(NcclAlgorithm::kNvlsTree);
    } else if (token == "nvls") {
      named.insert(NcclAlgorithm::kNvls);
    } else if (token == "tree") {
      named.insert(NcclAlgorithm::kTree);
    } else if (token == "ring") {
      named.insert(NcclAlgorithm::kRing);
    } else if (token == "collnet" || token == "sharp" || token == "collnetdirect") {
      named.insert(NcclAlgorithm::kCollNetDirect);
    } else if (token == "collnetchain") {
      named.insert(NcclAlgorithm::kCollNetChain);
    } else if (token == "pat") {
      named.insert(NcclAlgorithm::kPat);
    } else if (token == "p2p" || token == "direct") {
      named.insert(NcclAlgorithm::kDirect);
    }
  }
  return named.size() == 1 ? std::optional<NcclAlgorithm>(*named.begin()) : std::nullopt;
}

void flag(ClassifiedCollective& point, const char* name, bool excludes) {
  if (std::find(point.flags.begin(), point.flags.end(), name) == point.flags.end()) {
    point.flags.emplace_back(name);
  }
  point.excluded = point.excluded || excludes;
}

void flag_notes(ClassifiedCollective& point) {
  const std::string notes = lower_case(point.row.notes);
  const std::string all = notes + " " + lower_case(point.row.source);
  const std::string algo = lower_case(point.row.algo);
  if (contains(all, "digitised") || contains(all, "digitized") || contains(all, "by eye")) {
    flag(point, "by_eye", false);
  }
  if (contains(notes, "threshold") || contains(notes, "pass mark") || contains(notes, "expectation") ||
      contains(notes, "baseline ~") || contains(notes, "not a measurement")) {
    flag(point, "threshold", true);
  }
  if (contains(notes, "training trace")) {
    flag(point, "training_trace", true);
  }
  if (contains(notes, "anomalous") || contains(notes, "treat with care")) {
    flag(point, "anomalous", true);
  }
  if (contains(notes, "poor setup") || contains(notes, "before the fix") || contains(notes, "misconfigured")) {
    flag(point, "poor_setup", true);
  }
  if (contains(notes, "inferred")) {
    flag(point, "inferred", false);
  }
  if (contains(algo, "nccl_proto") || contains(algo, "proto=")) {
    flag(point, "protocol_forced", true);
  }
}

// measured, and what is wrong with its digits.
void read_bandwidth(ClassifiedCollective& point) {
  const PublishedCollective& row = point.row;
  const double factor = point.shape.wire_factor;
  const bool timed = row.time_us && *row.time_us > 0.0 && row.size_bytes;
  if (timed) {
    point.measured = from_si<BytesPerSecond>(*row.size_bytes * factor / (*row.time_us * 1e-6));
  } else if (row.busbw_gbps && *row.busbw_gbps > 0.0) {
    point.measured = from_si<BytesPerSecond>(*row.busbw_gbps * 1e9);
  } else if (row.algbw_gbps && *row.algbw_gbps > 0.0) {
    point.measured = from_si<BytesPerSecond>(*row.algbw_gbps * factor * 1e9);
  }
  if (row.algbw_gbps && row.busbw_gbps && *row.algbw_gbps >= 1.0 &&
      std::abs(*row.busbw_gbps / (*row.algbw_gbps * factor) - 1.0) > 0.1) {
    flag(point, "factor_mismatch", true);
    point.measured = from_si<BytesPerSecond>(*row.algbw_gbps * factor * 1e9);
  }
  if (!timed && row.busbw_gbps && *row.busbw_gbps < 0.095) {
    flag(point, "one_digit", *row.busbw_gbps < 0.045);
  }
}

std::string series_of(const ClassifiedCollective& point) {
  return point.row.source + "; " + point.row.hardware + "; " + std::to_string(point.site.ranks) + " GPUs on " +
         std::to_string(point.site.nodes) + (point.site.nodes == 1 ? " node; " : " nodes; ") +
         std::string(to_string(point.op)) + ", " + point.row.algo;
}

void choose_algorithm(ClassifiedCollective& point, const LinkFacts& facts) {
  const std::optional<NcclAlgorithm> named = named_algorithm(point.row.algo);
  const bool by_switches = named == NcclAlgorithm::kCollNetDirect || named == NcclAlgorithm::kCollNetChain;
  point.site.sharp = point.site.sharp || by_switches;
  const std::vector<NcclAlgorithm> possible = possible_algorithms(point.site, point.op, facts);
  const auto can = [&](NcclAlgorithm algorithm) {
    return std::find(possible.begin(), possible.end(), algorithm) != possible.end();
  };
  point.algorithm = usual_algorithm(point.site, point.op, facts);
  if (!named) {
    return;
  }
  if (can(*named)) {
    point.algorithm = *named;
  } else if (*named == NcclAlgorithm::kNvls && can(NcclAlgorithm::kNvlsTree)) {
    point.algorithm = NcclAlgorithm::kNvlsTree;
  } else {
    flag(point, "algorithm_replaced", false);
  }
}

std::optional<int> forced_channels(const std::string& algo) {
  std::smatch match;
  const std::string text = lower_case(algo.substr(0, 200));
  if (std::regex_search(text, match, std::regex("([0-9]{1,3}) ?(channel|nch|ctas)"))) {
    return std::max(1, std::stoi(match[1].str()));
  }
  return std::nullopt;
}

// Fills `point` or its reason.
void classify_row(ClassifiedCollective& point, const LinkFacts& facts) {
  const PublishedCollective& row = point.row;
  if (!row.malformed.empty()) {
    point.reason = row.malformed;
    return;
  }
  const std::optional<CollectiveOp> op = collective_op(row.collective);
  if (!op) {
    point.reason = "unknown collective '" + row.collective + "'";
    return;
  }
  point.op = *op;
  const std::optional<DescribedSite> described = describe_site(row.hardware, row.nodes, row.gpus);
  if (!described) {
    point.reason = "no accelerator, instance type or NIC recognised in '" + row.hardware + "'";
    return;
  }
  point.site = described->site;
  for (const std::string& what : described->assumed) {
    const bool needed = what == "ranks" || what == "nodes" || point.site.nodes > 1;
    if (needed) {
      flag(point, (what + "_assumed").c_str(), false);
    }
  }
  const std::string notes = lower_case(row.notes);
  point.site.framework = contains(notes, "torch") || contains(notes, "all_reduce_bench");
  if (point.site.ranks < 2) {
    point.reason = "one rank moves nothing";
    return;
  }
  choose_algorithm(point, facts);
  point.shape = curve_shape(point.site, point.op, point.algorithm, facts);
  if (const std::optional<int> channels = forced_channels(row.algo)) {
    limit_channels(point.shape, *channels, facts);
  }
  if (row.size_bytes && *row.size_bytes > 0.0) {
    point.size = from_si<Bytes>(*row.size_bytes);
  } else {
    flag(point, "peak", true);
  }
  read_bandwidth(point);
  if (point.measured.si() <= 0.0) {
    point.reason = "no bandwidth or time was measured";
  }
  flag_notes(point);
  point.source = source_of(row.source);
  point.series = series_of(point);
}

// A larger size of the same series that took clearly less time: something else was timed too.
void flag_non_monotone(std::vector<ClassifiedCollective>& points) {
  constexpr double kClearly = 1.12;
  std::map<std::string, std::vector<ClassifiedCollective*>> series;
  for (ClassifiedCollective& point : points) {
    // With few channels LL is slower than the protocol of the next size: that is no mistake.
    if (point.reason.empty() && point.size && !point.shape.channel_caps) {
      series[point.series].push_back(&point);
    }
  }
  for (auto& [name, members] : series) {
    std::stable_sort(members.begin(), members.end(), [](const auto* a, const auto* b) { return *a->size < *b->size; });
    double least_later = std::numeric_limits<double>::infinity();
    for (auto it = members.rbegin(); it != members.rend(); ++it) {
      const double time = ((*it)->size->si() * (*it)->shape.wire_factor) / (*it)->measured.si();
      if (time > kClearly * least_later) {
        flag(**it, "non_monotone", true);
      } else {
        least_later = std::min(least_later, time);
      }
    }
  }
}

}  // namespace

std::vector<PublishedCollective> parse_published_collectives(const std::string& text, const std::string& where) {
  parse_json_object(text, where);  // throws for what isn't strict JSON
  const json root = json::parse(text);
  const auto points = root.find("points");
  if (points == root.end() || !points->is_array() || points->empty()) {
    throw Error("holds no points", where,
                "expected {\"schema\": ..., \"count\": ..., \"points\": [{\"id\": ...}, ...]}");
  }
  const bool collectives = std::any_of(points->begin(), points->end(),
                                       [](const json& row) { return row.is_object() && row.contains("collective"); });
  if (!collectives) {
    throw Error("its points are not of collectives", where, "each names its \"collective\": \"all_reduce\", ...");
  }
  std::vector<PublishedCollective> rows;
  rows.reserve(points->size());
  for (const json& row : *points) {
    rows.push_back(read_row(row, rows.size()));
  }
  return rows;
}

std::vector<std::string> header_doubts(const std::string& text) {
  const json root = json::parse(text);
  std::vector<std::string> doubts;
  const std::size_t points = root.at("points").size();
  if (const auto count = root.find("count"); count != root.end() && *count != points) {
    doubts.push_back("count is " + count->dump() + " and there are " + std::to_string(points) +
                     " points: a part may be missing");
  }
  if (const auto schema = root.find("schema"); schema != root.end()) {
    const std::string columns = schema->is_string() ? schema->get<std::string>() : std::string();
    for (const char* column : {"id", "hardware", "collective", "size_bytes", "busbw_GBps"}) {
      if (!contains(columns, column)) {
        doubts.push_back(std::string("schema doesn't name the column ") + column + ": another kind of file?");
        break;
      }
    }
  }
  return doubts;
}

Exclusions parse_exclusions(const std::string& text, const std::string& where) {
  ObjectReader root = parse_json_object(text, where);
  root.document("collective_exclusions", 1);
  Exclusions exclusions;
  root.for_each_object("points", [&](ObjectReader& entry) {
    const std::string flag = entry.text("flag");
    const std::string reason = entry.text("reason");
    for (const std::string& id : entry.texts("ids")) {
      exclusions[id] = {flag, reason};
    }
  });
  root.finish();
  return exclusions;
}

std::vector<ClassifiedCollective> classify(const std::vector<PublishedCollective>& rows, const LinkFacts& facts,
                                           const Exclusions& exclusions) {
  std::vector<ClassifiedCollective> points;
  points.reserve(rows.size());
  for (const PublishedCollective& row : rows) {
    ClassifiedCollective point;
    point.row = row;
    try {
      classify_row(point, facts);
    } catch (const Error& error) {
      point.reason = error.problem();
    }
    if (const auto found = exclusions.find(row.id); found != exclusions.end()) {
      flag(point, found->second.first.c_str(), true);
    }
    points.push_back(std::move(point));
  }
  flag_non_monotone(points);
  return points;
}

std::vector<FitObservation> fit_observations(const std::vector<ClassifiedCollective>& rows) {
  std::vector<FitObservation> observations;
  for (const ClassifiedCollective& row : rows) {
    if (row.reason.empty() && !row.excluded && row.size) {
      observations.push_back(row.observation());
    }
  }
  return observations;
}

}  // namespace trainyard::simulator
