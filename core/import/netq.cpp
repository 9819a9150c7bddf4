#include "core/import/netq.h"

#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "core/document/json_document.h"
#include "core/document/json_pointer.h"
#include "core/error.h"
#include "core/import/bus_rates.h"
#include "core/import/fabric_draft.h"
#include "core/import/text_lines.h"

namespace trainyard {

namespace {

using nlohmann::json;

struct Place {
  const json* value;
  std::string pointer;
};

[[noreturn]] void fail(const Place& place, const std::string& what, const std::string& hint = {}) {
  throw Error(what, place.pointer, hint);
}

Place member(const Place& object, const char* key) {
  const auto found = object.value->is_object() ? object.value->find(key) : object.value->end();
  if (!object.value->is_object() || found == object.value->end()) {
    fail(object, std::string("has no \"") + key + "\"", "is this a topology graph of NetQ?");
  }
  return {&*found, child_pointer(object.pointer, key)};
}

std::string text(const Place& object, const char* key) {
  const Place place = member(object, key);
  if (!place.value->is_string() || place.value->get_ref<const std::string&>().empty()) {
    fail(place, "expected text");
  }
  return place.value->get<std::string>();
}

template <class Read>
void for_each(const Place& array, const Read& read) {
  if (!array.value->is_array()) {
    fail(array, std::string("expected a list, not ") + json_type_name(*array.value));
  }
  for (std::size_t i = 0; i < array.value->size(); ++i) {
    read(Place{&(*array.value)[i], child_pointer(array.pointer, std::to_string(i))});
  }
}

class GraphReader {
 public:
  explicit GraphReader(const std::string& where) : draft_(where) {}

  void read(const Place& graph) {
    for_each(member(graph, "nodes"), [this](const Place& tier) {
      for_each(member(tier, "compounded_nodes"), [this](const Place& node) { read_node(node); });
    });
    for_each(member(graph, "links"), [this](const Place& link) {
      for_each(member(link, "compounded_links"), [this](const Place& cable) { read_cable(cable); });
    });
  }

  Cluster finish() && {
    Cluster cluster = std::move(draft_).finish("fabric");
    cluster.notes.push_back(unreported_rates_note());
    cluster.notes.push_back(unknown_cable_note());
    return cluster;
  }

 private:
  void read_node(const Place& node) {
    const std::string id = text(node, "id");
    const Place tier = member(node, "tier");
    if (!tier.value->is_number_integer()) {
      fail(tier, "expected the number of a tier");
    }
    const std::string name = text(node, "name");
    if (nodes_.contains(id)) {
      fail(node, "node " + quote(id) + " is given twice");
    }
    const auto number = tier.value->get<std::int64_t>();
    nodes_[id] = {name, number > 0 ? std::optional(draft_.add_switch({.name = name, .tier = number > 3 ? 3 : number}))
                                   : std::nullopt};
  }

  struct Interface {
    std::string node;
    std::string name;
    Place place;
    friend bool operator<(const Interface& a, const Interface& b) {
      return std::tie(a.node, a.name) < std::tie(b.node, b.name);
    }
  };

  void read_cable(const Place& cable) {
    std::vector<Interface> ends;
    for_each(member(cable, "interfaces"), [&ends](const Place& end) {
      ends.push_back({text(end, "node"), text(end, "interface"), end});
    });
    if (ends.size() != 2 || ends[0].node == ends[1].node) {
      fail(cable, "a cable has two ends at two nodes");
    }
    const auto key = ends[0] < ends[1] ? std::pair(name_of(ends[0]), name_of(ends[1]))
                                       : std::pair(name_of(ends[1]), name_of(ends[0]));
    if (seen_.insert(key).second) {
      draft_.add_cables(end_of(ends[0]), end_of(ends[1]), kUnreportedNicRate, 1);
    }
  }

  static std::string name_of(const Interface& interface) { return interface.node + ":" + interface.name; }

  FabricDraft::End end_of(const Interface& interface) {
    const auto node = nodes_.find(interface.node);
    if (node == nodes_.end()) {
      fail(interface.place, "node " + quote(interface.node) + " is not among the nodes");
    }
    if (node->second.second) {
      return *node->second.second;
    }
    const auto [found, is_new] = endpoints_.try_emplace(name_of(interface));
    if (is_new) {
      found->second = draft_.add_endpoint(node->second.first, interface.name);
    }
    return found->second;
  }

  FabricDraft draft_;
  std::map<std::string, std::pair<std::string, std::optional<FabricDraft::End>>> nodes_;  // by id: name, switch
  std::map<std::string, FabricDraft::End> endpoints_;
  std::set<std::pair<std::string, std::string>> seen_;
};

}  // namespace

Cluster import_netq(std::string_view text, const std::string& where) {
  require_text(text, where);
  const json root = parse_json(std::string(text), where);
  GraphReader reader(where);
  const Place top = {&root, where};
  if (root.is_array()) {
    for_each(top, [&reader](const Place& graph) { reader.read(graph); });
  } else {
    reader.read(top);
  }
  return std::move(reader).finish();
}

}  // namespace trainyard
