#include "core/import/combine.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "core/error.h"
#include "core/import/bus_rates.h"
#include "core/import/fabric_draft.h"
#include "core/import/limits.h"
#include "core/import/nic_match.h"
#include "core/import/node_names.h"
#include "core/import/text_lines.h"
#include "core/units/format_quantity.h"

namespace trainyard {

namespace {

// "node0/mlx5_0" -> "mlx5_0"; a name of another form as it is.
std::string name_inside(const Cluster& cluster, VertexId id) {
  const Vertex& vertex = cluster.vertex(id);
  const std::string prefix = vertex.node ? cluster.nodes()[vertex.node->at()] + "/" : std::string();
  return vertex.name.starts_with(prefix) ? vertex.name.substr(prefix.size()) : vertex.name;
}

class Combiner {
 public:
  Combiner(const Cluster& node, const Cluster& fabric, const std::string& where)
      : node_(node), fabric_(fabric), where_(where) {}

  Cluster build() {
    check_node();
    check_fabric();
    cluster_.name = fabric_.name;
    cluster_.congestion_control = fabric_.congestion_control;
    copy_types();
    images_.resize(fabric_.vertices().size());
    const std::size_t usual = usual_nics();
    for (std::size_t host = 0; host < fabric_.nodes().size(); ++host) {
      if (2 * of_host_[host].size() <= usual) {
        add_other_host(host);
      } else {
        add_host(host);
      }
    }
    for (std::size_t i = 0; i < fabric_.vertices().size(); ++i) {
      if (!fabric_.vertices()[i].node) {
        copy_vertex(VertexId(static_cast<std::int64_t>(i)), std::nullopt);
      }
    }
    for (const Link& link : fabric_.links()) {
      add_fabric_link(link);
    }
    set_leaf_rails(cluster_);
    add_notes();
    return std::move(cluster_);
  }

 private:
  // ---- What may be combined -------------------------------------------------------------------------------

  void check_node() {
    if (node_.nodes().size() != 1) {
      throw Error("the node file describes " + std::to_string(node_.nodes().size()) + " hosts, not one", where_,
                  "--node takes one host: NCCL XML, hwloc XML or nvidia-smi topo -m");
    }
    for (std::size_t i = 0; i < node_.vertices().size(); ++i) {
      const Vertex& vertex = node_.vertices()[i];
      if (!vertex.node) {
        throw Error(quote(vertex.name) + " in the node file is outside the host", where_);
      }
      if (vertex.kind == VertexKind::kNic) {
        nics_.push_back(VertexId(static_cast<std::int64_t>(i)));
        has_rails_ = has_rails_ || vertex.rail.has_value();
      }
    }
    if (node_.gpus().empty()) {
      throw Error("the node file lists no GPU", where_);
    }
    if (nics_.empty()) {
      throw Error("the node file lists no NIC, so the host can't be joined to the fabric", where_,
                  "nvidia-smi topo -m lists NICs where their drivers are loaded; an NCCL dump lists those it uses");
    }
    std::stable_sort(nics_.begin(), nics_.end(), [this](VertexId a, VertexId b) {
      return natural_less(name_inside(node_, a), name_inside(node_, b));
    });
  }

  void check_fabric() {
    if (!fabric_.gpus().empty()) {
      throw Error("the hosts of this cluster have GPUs already", where_, "leave --node out");
    }
    if (fabric_.nodes().empty()) {
      throw Error("the fabric names no hosts", where_);
    }
    if (fabric_.nodes().size() > kImportVertexLimit / node_.vertices().size()) {
      throw Error("more than " + std::to_string(kImportVertexLimit) + " devices", where_);
    }
    of_host_.resize(fabric_.nodes().size());
    std::set<std::string> names;
    for (const VertexId nic : fabric_.of_kind(VertexKind::kNic)) {
      if (const auto host = fabric_.vertex(nic).node) {
        of_host_[host->at()].push_back(nic);
        names.insert(name_inside(fabric_, nic));
      }
    }
    std::vector<std::string> own;
    for (const VertexId nic : nics_) {
      own.push_back(name_inside(node_, nic));
    }
    match_.emplace(std::move(own), names);
    unreported_ = std::all_of(fabric_.links().begin(), fabric_.links().end(),
                              [](const Link& link) { return link.bandwidth == kUnreportedNicRate * link.width; });
  }

  // ---- Hosts ----------------------------------------------------------------------------------------------

  void copy_types() {
    for (const DeviceType& type : node_.device_types()) {
      node_types_.push_back(cluster_.add_device_type(type));
    }
    for (const DeviceType& type : fabric_.device_types()) {
      fabric_types_.push_back(cluster_.add_device_type(type));
    }
    for (const Cable& cable : fabric_.cables()) {
      cables_.push_back(cluster_.add_cable(cable));
    }
  }

  bool is_whole_host(std::size_t host) const {
    return of_host_[host].size() == 1 && fabric_.vertex(of_host_[host].front()).name == fabric_.nodes()[host];
  }

  // The fabric's NIC for each of the node's vertices that is one; absent where the host lacks it.
  std::vector<std::optional<VertexId>> matched(std::size_t host) {
    std::vector<std::optional<VertexId>> partner(node_.vertices().size());
    std::vector<std::string> names;
    for (const VertexId nic : of_host_[host]) {
      names.push_back(name_inside(fabric_, nic));
    }
    const auto positions = match_->match(names);
    if (!positions) {
      std::string list;
      for (const std::string& name : names) {
        list += (list.empty() ? "" : ", ") + name;
      }
      throw Error("host " + quote(fabric_.nodes()[host]) + " has " + std::to_string(names.size()) +
                      " NICs in the fabric (" + list + "), the node has " + std::to_string(nics_.size()) + " (" +
                      name_inside(node_, nics_.front()) + " to " + name_inside(node_, nics_.back()) +
                      "): which is which can't be told",
                  where_, "the node file is to be of such a host, or the names in both files are to agree");
    }
    for (std::size_t i = 0; i < positions->size(); ++i) {
      partner[nics_[(*positions)[i]].at()] = of_host_[host][i];
    }
    left_out_ += nics_.size() - positions->size();
    return partner;
  }

  // NICs that most hosts have in the fabric. One with half of them or fewer is another kind of machine: it manages
  // the fabric or stores, and has no GPUs.
  std::size_t usual_nics() const {
    std::map<std::size_t, std::size_t> hosts_with;
    for (const std::vector<VertexId>& nics : of_host_) {
      ++hosts_with[nics.size()];
    }
    std::size_t usual = 0;
    for (const auto& [nics, hosts] : hosts_with) {
      usual = hosts >= hosts_with[usual] ? nics : usual;
    }
    return usual;
  }

  void add_other_host(std::size_t host) {
    const NodeId id = cluster_.add_node(fabric_.nodes()[host]);
    for (const VertexId nic : of_host_[host]) {
      copy_vertex(nic, id);
    }
    ++other_hosts_;
  }

  void copy_vertex(VertexId id, std::optional<NodeId> host) {
    Vertex vertex = fabric_.vertex(id);
    vertex.type = fabric_types_[vertex.type.at()];
    vertex.name = unique_.name(vertex.name);
    vertex.node = host;
    images_[id.at()] = {cluster_.add_vertex(std::move(vertex))};
  }

  void add_host(std::size_t host) {
    const NodeId id = cluster_.add_node(fabric_.nodes()[host]);
    const bool whole = is_whole_host(host);
    expands_ = expands_ || whole;
    std::vector<std::optional<VertexId>> partner;
    if (!whole && !of_host_[host].empty()) {
      partner = matched(host);
    }
    std::vector<std::optional<VertexId>> image(node_.vertices().size());
    for (std::size_t i = 0; i < node_.vertices().size(); ++i) {
      Vertex vertex = node_.vertices()[i];
      const bool is_nic = vertex.kind == VertexKind::kNic;
      if (is_nic && !whole && (partner.empty() || !partner[i])) {
        continue;
      }
      vertex.name = fabric_.nodes()[host] + "/" + name_inside(node_, VertexId(static_cast<std::int64_t>(i)));
      if (is_nic && !whole) {
        vertex.name = fabric_.vertex(*partner[i]).name;
        vertex.plane = fabric_.vertex(*partner[i]).plane;
      }
      vertex.type = node_types_[vertex.type.at()];
      vertex.node = id;
      vertex.name = unique_.name(vertex.name);
      image[i] = cluster_.add_vertex(std::move(vertex));
      if (is_nic && !whole) {
        images_[partner[i]->at()] = {*image[i]};
      } else if (is_nic && is_cabled(VertexId(static_cast<std::int64_t>(i)))) {
        images_[of_host_[host].front().at()].push_back(*image[i]);
      }
    }
    for (Link link : node_.links()) {
      if (image[link.from.at()] && image[link.to.at()]) {
        link.from = *image[link.from.at()];
        link.to = *image[link.to.at()];
        link.cable.reset();
        cluster_.add_link(link);
      }
    }
  }

  // ---- Cables ---------------------------------------------------------------------------------------------

  // What a cable carries: the file's rate, or the node's NICs' where the file gave none.
  BytesPerSecond rate(const Link& link) const {
    const BytesPerSecond given = link.bandwidth / link.width;
    return unreported_ ? fastest().value_or(given) : given;
  }

  std::optional<BytesPerSecond> fastest() const {
    std::optional<BytesPerSecond> best;
    for (const VertexId nic : nics_) {
      if (const auto own = node_.type(nic).port_rate) {
        best = best ? max(*best, *own) : *own;
      }
    }
    return best;
  }

  // Of an endpoint that stands for the host: the NICs on a rail, which are the fastest; all where none is.
  bool is_cabled(VertexId nic) const { return has_rails_ == node_.vertex(nic).rail.has_value(); }

  std::int32_t cabled() const {
    return static_cast<std::int32_t>(
        std::count_if(nics_.begin(), nics_.end(), [this](VertexId nic) { return is_cabled(nic); }));
  }

  bool is_switch(VertexId id) const { return is_fabric_switch(fabric_.vertex(id).kind); }

  void add_fabric_link(Link link) {
    const std::vector<VertexId>& from = images_[link.from.at()];
    const std::vector<VertexId>& to = images_[link.to.at()];
    const BytesPerSecond one = rate(link);
    const bool between_switches = is_switch(link.from) && is_switch(link.to);
    if (between_switches && expands_) {
      link.width = static_cast<std::int32_t>(std::min<std::int64_t>(std::int64_t{link.width} * cabled(), 1 << 30));
    }
    const double reverse = link.reverse_bandwidth / link.bandwidth;
    link.bandwidth = one * link.width;
    link.reverse_bandwidth = link.bandwidth * reverse;
    if (link.cable) {
      link.cable = cables_[link.cable->at()];
    }
    for (std::size_t i = 0; i < std::max(from.size(), to.size()); ++i) {
      if (!from.empty() && !to.empty()) {
        link.from = from[std::min(i, from.size() - 1)];
        link.to = to[std::min(i, to.size() - 1)];
        cluster_.add_link(link);
      }
    }
  }

  void add_notes() {
    const bool filled_in = unreported_ && fastest();
    for (const std::string& note : fabric_.notes) {
      if (!filled_in || note != unreported_rates_note()) {
        cluster_.notes.push_back("fabric: " + note);
      }
    }
    if (filled_in) {
      cluster_.notes.push_back("fabric: the file gives no rates: each cable counts as the node's fastest NIC, " +
                               format_quantity(*fastest()));
    }
    for (const std::string& note : node_.notes) {
      cluster_.notes.push_back("node: " + note);
    }
    if (other_hosts_ > 0) {
      cluster_.notes.push_back(
          "hosts with half of the usual number of NICs or fewer, taken for servers without GPUs: " +
          std::to_string(other_hosts_));
    }
    if (left_out_ > 0) {
      cluster_.notes.push_back("NICs of the node that the fabric doesn't list, left out over all hosts: " +
                               std::to_string(left_out_));
    }
  }

  const Cluster& node_;
  const Cluster& fabric_;
  const std::string& where_;
  Cluster cluster_;
  std::vector<VertexId> nics_;                  // of the node, in the order of their names
  std::vector<std::vector<VertexId>> of_host_;  // the fabric's NICs by host
  UniqueNames unique_;
  std::optional<NicMatch> match_;
  std::vector<DeviceTypeId> node_types_;
  std::vector<DeviceTypeId> fabric_types_;
  std::vector<CableId> cables_;
  std::vector<std::vector<VertexId>> images_;  // by vertex of the fabric: several for an endpoint of a whole host
  bool has_rails_ = false;                     // of the node's NICs
  bool unreported_ = false;                    // the fabric's file gave no rates
  bool expands_ = false;
  std::size_t left_out_ = 0;
  int other_hosts_ = 0;
};

}  // namespace

Cluster combine(const Cluster& node, const Cluster& fabric, const std::string& where) {
  return Combiner(node, fabric, where).build();
}

}  // namespace trainyard
