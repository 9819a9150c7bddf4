#include "core/import/ibnetdiscover.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "core/error.h"
#include "core/import/bus_rates.h"
#include "core/import/fabric_draft.h"
#include "core/import/limits.h"
#include "core/import/nic_match.h"
#include "core/import/text_lines.h"

namespace trainyard {

namespace {

struct Device {
  bool is_switch = false;
  std::int32_t ports = 0;
  std::string description;
  std::size_t line = 0;
};

struct Cable {
  std::string from;
  std::string to;
  std::int32_t from_port = 0;
  std::int32_t to_port = 0;
  std::optional<BytesPerSecond> rate;
  std::size_t line = 0;
};

using Port = std::pair<std::string, std::int32_t>;

// Cuts the next "quoted text" off the front; absent if there is none.
std::optional<std::string_view> take_quoted(std::string_view& text) {
  const std::size_t open = text.find('"');
  const std::size_t close = open == std::string_view::npos ? open : text.find('"', open + 1);
  if (close == std::string_view::npos) {
    return std::nullopt;
  }
  const std::string_view inside = text.substr(open + 1, close - open - 1);
  text.remove_prefix(close + 1);
  return inside;
}

// Cuts "[12]" off the front.
std::optional<std::int32_t> take_port(std::string_view& text) {
  text = trimmed(text);
  const std::size_t close = text.find(']');
  if (!text.starts_with('[') || close == std::string_view::npos) {
    return std::nullopt;
  }
  const auto port = whole_number(trimmed(text.substr(1, close - 1)), 0, 255);
  text.remove_prefix(close + 1);
  return port ? std::optional<std::int32_t>(static_cast<std::int32_t>(*port)) : std::nullopt;
}

class FabricReader {
 public:
  FabricReader(std::string_view text, const std::string& where) : lines_(text), where_(where) {}

  Cluster read() {
    std::string_view line;
    while (lines_.next(line)) {
      read_line(trimmed(line));
    }
    if (devices_.empty()) {
      throw Error("lists no switch and no adapter", where_);
    }
    return build();
  }

 private:
  // ---- Reading --------------------------------------------------------------------------------------------

  void read_line(std::string_view line) {
    if (line.empty() || line.front() == '#') {
      return;
    }
    if (line.front() == '[') {
      read_cable(line);
      return;
    }
    const std::string_view kind = line.substr(0, line.find_first_of(" \t"));
    if (kind == "Switch" || kind == "Ca" || kind == "Hca" || kind == "Rt") {
      read_device(kind == "Switch", line.substr(kind.size()));
    } else if (line.find('=') == std::string_view::npos && kind != "Chassis") {
      fail(quote(line) + " is no line of ibnetdiscover",
           "lines start with Switch, Ca, [port], # or a key such as switchguid=");
    }
  }

  void read_device(bool is_switch, std::string_view rest) {
    const std::vector<std::string_view> found = words(rest.substr(0, rest.find('"')));
    const auto ports = found.size() == 1 ? whole_number(found.front(), 0, 255) : std::nullopt;
    const auto id = take_quoted(rest);
    if (!ports || !id || id->empty()) {
      fail("expected a number of ports and a name in quotes after " + std::string(is_switch ? "Switch" : "Ca"));
    }
    if (devices_.size() >= kImportVertexLimit) {
      fail("more than " + std::to_string(kImportVertexLimit) + " devices");
    }
    Device device{.is_switch = is_switch, .ports = static_cast<std::int32_t>(*ports), .line = lines_.number()};
    if (const std::size_t comment = rest.find('#'); comment != std::string_view::npos) {
      rest.remove_prefix(comment);
      device.description = take_quoted(rest).value_or("");
    }
    current_ = *id;
    const auto [existing, is_new] = devices_.emplace(current_, std::move(device));
    if (!is_new) {
      fail(quote(current_) + " is listed twice, first at line " + std::to_string(existing->second.line));
    }
    order_.push_back(current_);
  }

  void read_cable(std::string_view line) {
    if (current_.empty()) {
      fail("a port before any Switch or Ca");
    }
    Cable cable{.from = current_, .line = lines_.number()};
    const auto from_port = take_port(line);
    const auto to = take_quoted(line);
    const auto to_port = to ? take_port(line) : std::nullopt;
    if (!from_port || !to || to->empty() || !to_port) {
      fail("expected [port] \"device\"[port]");
    }
    cable.to = *to;
    cable.from_port = *from_port;
    cable.to_port = *to_port;
    const std::vector<std::string_view> found = words(line);
    if (!found.empty()) {
      cable.rate = infiniband_rate(found.back());
    }
    if (cables_.size() >= kImportLinkLimit) {
      fail("more than " + std::to_string(kImportLinkLimit) + " ports");
    }
    cables_.push_back(std::move(cable));
  }

  [[noreturn]] void fail(const std::string& what, const std::string& hint = {}) const {
    throw Error(what, at_line(where_, lines_.number()), hint);
  }
  [[noreturn]] void fail_at(const Cable& cable, const std::string& what, const std::string& hint = {}) const {
    throw Error(what, at_line(where_, cable.line), hint);
  }

  // ---- Building -------------------------------------------------------------------------------------------

  static bool is_aggregation_node(const Device& device) {
    return !device.is_switch && device.description.find("Aggregation Node") != std::string::npos;
  }

  // "a08-p1-dgx-04-c01 mlx5_5" -> host and NIC. A NIC's name is one word that ends in a number.
  static std::optional<std::pair<std::string, std::string>> host_and_nic(const std::string& description) {
    const std::vector<std::string_view> found = words(description);
    if (found.size() != 2 || std::isdigit(static_cast<unsigned char>(found[1].back())) == 0) {
      return std::nullopt;
    }
    return std::pair(std::string(found[0]), std::string(found[1]));
  }

  // "MF0;A09-P1-IBLEAF-04-04:MQM9701/U1" -> the name A09-P1-IBLEAF-04-04, the type MQM9701.
  FabricDraft::Switch switch_of(const std::string& id, const Device& device) const {
    FabricDraft::Switch of{.name = id, .type = "InfiniBand switch", .ports = device.ports};
    std::string_view description = device.description;
    if (const std::size_t semicolon = description.find(';'); semicolon != std::string_view::npos) {
      description.remove_prefix(semicolon + 1);
      const std::size_t colon = description.find(':');
      if (colon != std::string_view::npos && colon > 0) {
        of.type = description.substr(colon + 1, description.find('/', colon) - colon - 1);
        of.name = description.substr(0, colon);
      }
    } else if (!description.empty()) {
      of.name = description;
    }
    return of;
  }

  FabricDraft::End end_of(const std::string& id, std::int32_t port, const Cable& cable) {
    const Device& device = devices_.at(id);
    if (port > device.ports) {
      fail_at(cable, quote(id) + " has " + std::to_string(device.ports) + " ports, not " + std::to_string(port));
    }
    const Port key = {id, device.is_switch ? 0 : port};
    const auto existing = ends_.find(key);
    if (existing != ends_.end()) {
      return existing->second;
    }
    const auto named = host_and_nic(device.description);
    // A description that names no host: which host it is in isn't known. ibsim's files have no descriptions.
    const bool unknown = !named && !device.description.empty();
    std::string host = named ? named->first : unknown ? "" : id;
    std::string nic = named ? named->second : unknown ? id : "hca0";
    const auto rail = named ? nic_number(nic) : std::nullopt;
    if (unknown) {
      unnamed_adapters_.insert(id);
    }
    if (used_ports_[id].size() > 1) {
      nic += ":" + std::to_string(port);
    }
    return ends_[key] = draft_.add_endpoint(host, nic, rail);
  }

  // Each cable once; a port can't have two. Absent: listed before from its other end.
  bool is_new(const Cable& cable) {
    const Port from = {cable.from, cable.from_port};
    const Port to = {cable.to, cable.to_port};
    for (const auto& [port, peer] : {std::pair(from, to), std::pair(to, from)}) {
      const auto known = peer_.find(port);
      if (known != peer_.end() && known->second != peer) {
        fail_at(cable, "port " + std::to_string(port.second) + " of " + quote(port.first) + " is cabled to " +
                           quote(known->second.first) + " as well as to " + quote(peer.first));
      }
    }
    peer_.emplace(to, from);
    return peer_.emplace(from, to).second;
  }

  Cluster build() {
    for (const std::string& id : order_) {
      const Device& device = devices_.at(id);
      if (device.is_switch) {
        ends_[{id, 0}] = draft_.add_switch(switch_of(id, device));
      }
    }
    std::vector<const Cable*> kept;
    for (const Cable& cable : cables_) {
      const auto to = devices_.find(cable.to);
      if (to == devices_.end()) {
        fail_at(cable, quote(cable.to) + " is not listed in the file", "was the text cut short?");
      }
      if (cable.from == cable.to) {
        fail_at(cable, quote(cable.to) + " is cabled to itself");
      }
      if (is_aggregation_node(devices_.at(cable.from)) || is_aggregation_node(to->second) || !is_new(cable)) {
        continue;
      }
      used_ports_[cable.from].insert(cable.from_port);
      used_ports_[cable.to].insert(cable.to_port);
      kept.push_back(&cable);
    }
    int without_rate = 0;
    for (const Cable* cable : kept) {
      without_rate += cable->rate ? 0 : 1;
      draft_.add_cables(end_of(cable->from, cable->from_port, *cable), end_of(cable->to, cable->to_port, *cable),
                        cable->rate.value_or(kUnreportedNicRate), 1);
    }
    draft_.sort_hosts();
    Cluster cluster = std::move(draft_).finish("fabric");
    cluster.congestion_control = CongestionControl::kCredit;
    add_notes(cluster, without_rate);
    return cluster;
  }

  void add_notes(Cluster& cluster, int without_rate) const {
    if (without_rate > 0) {
      cluster.notes.push_back(unreported_rates_note());
    }
    if (!unnamed_adapters_.empty()) {
      cluster.notes.push_back("adapters whose description names no host, ends of the fabric outside any host: " +
                              std::to_string(unnamed_adapters_.size()));
    }
    const auto aggregation = std::count_if(devices_.begin(), devices_.end(),
                                           [](const auto& entry) { return is_aggregation_node(entry.second); });
    if (aggregation > 0) {
      cluster.notes.push_back("aggregation nodes inside switches (SHARP), left out: " + std::to_string(aggregation));
    }
    cluster.notes.push_back(unknown_cable_note());
  }

  TextLines lines_;
  std::string where_;
  std::string current_;
  std::map<std::string, Device> devices_;
  std::vector<std::string> order_;
  std::vector<Cable> cables_;
  FabricDraft draft_{where_};
  std::map<Port, FabricDraft::End> ends_;  // port 0 for a switch
  std::map<Port, Port> peer_;
  std::map<std::string, std::set<std::int32_t>> used_ports_;
  std::set<std::string> unnamed_adapters_;
};

}  // namespace

std::optional<BytesPerSecond> infiniband_rate(std::string_view word) {
  struct Lane {
    std::string_view name;
    double gigabits;
  };
  constexpr std::array<Lane, 9> kLanes = {{{"SDR", 2.0},
                                           {"DDR", 4.0},
                                           {"QDR", 8.0},
                                           {"FDR10", 10.0},
                                           {"FDR", 13.64},
                                           {"EDR", 25.0},
                                           {"HDR", 50.0},
                                           {"NDR", 100.0},
                                           {"XDR", 200.0}}};
  const std::size_t cross = word.find('x');
  const auto lanes = whole_number(word.substr(0, cross), 1, 12);
  if (cross == std::string_view::npos || !lanes) {
    return std::nullopt;
  }
  for (const Lane& lane : kLanes) {
    if (word.substr(cross + 1) == lane.name) {
      return from_si<BytesPerSecond>(lane.gigabits * static_cast<double>(*lanes) * 1e9 / 8.0);
    }
  }
  return std::nullopt;
}

Cluster import_ibnetdiscover(std::string_view text, const std::string& where) {
  require_text(text, where);
  return FabricReader(text, where).read();
}

}  // namespace trainyard
