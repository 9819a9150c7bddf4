#include "core/import/switch_tree.h"

#include <algorithm>
#include <map>

#include "core/error.h"
#include "core/import/bus_rates.h"
#include "core/import/fabric_draft.h"
#include "core/import/text_lines.h"

namespace trainyard {

namespace {

class TreeBuilder {
 public:
  TreeBuilder(std::vector<TreeSwitch> switches, const std::string& where)
      : switches_(std::move(switches)), where_(where), draft_(where) {}

  Cluster build() {
    for (std::size_t i = 0; i < switches_.size(); ++i) {
      if (switches_[i].name.empty()) {
        throw Error("a switch without a name", switches_[i].where);
      }
      if (!index_.emplace(switches_[i].name, i).second) {
        throw Error("switch " + quote(switches_[i].name) + " is defined twice", switches_[i].where);
      }
    }
    find_children();
    order_bottom_up();
    measure();
    add_to_draft();
    Cluster cluster = std::move(draft_).finish("fabric");
    cluster.notes.push_back(unreported_rates_note());
    cluster.notes.emplace_back("the file gives no numbers of cables between switches: counted as not oversubscribed");
    cluster.notes.push_back(unknown_cable_note());
    return cluster;
  }

 private:
  void find_children() {
    below_.resize(switches_.size());
    parents_.assign(switches_.size(), 0);
    for (std::size_t i = 0; i < switches_.size(); ++i) {
      for (const std::string& name : switches_[i].switches) {
        const auto found = index_.find(name);
        if (found == index_.end()) {
          throw Error("switch " + quote(name) + " below " + quote(switches_[i].name) + " is not defined",
                      switches_[i].where);
        }
        below_[i].push_back(found->second);
        ++parents_[found->second];
      }
    }
  }

  // Children before parents (Kahn 1962); what is left over lies below itself.
  void order_bottom_up() {
    std::vector<std::vector<std::size_t>> above(switches_.size());
    std::vector<std::size_t> waiting(switches_.size());
    for (std::size_t i = 0; i < switches_.size(); ++i) {
      waiting[i] = below_[i].size();
      for (const std::size_t child : below_[i]) {
        above[child].push_back(i);
      }
      if (waiting[i] == 0) {
        order_.push_back(i);
      }
    }
    for (std::size_t i = 0; i < order_.size(); ++i) {
      for (const std::size_t parent : above[order_[i]]) {
        if (--waiting[parent] == 0) {
          order_.push_back(parent);
        }
      }
    }
    for (std::size_t i = 0; i < switches_.size(); ++i) {
      if (waiting[i] > 0) {
        throw Error("switch " + quote(switches_[i].name) + " is below itself", switches_[i].where);
      }
    }
  }

  void measure() {
    tier_.assign(switches_.size(), 1);
    cables_up_.assign(switches_.size(), 1);
    for (const std::size_t i : order_) {
      auto hosts = static_cast<double>(switches_[i].hosts.size());
      for (const std::size_t child : below_[i]) {
        tier_[i] = std::max(tier_[i], tier_[child] + 1);
        hosts += cables_up_[child];
      }
      const double share = hosts / std::max(parents_[i], 1);
      cables_up_[i] = static_cast<std::int32_t>(std::clamp(share + 0.999, 1.0, 1e9));
    }
  }

  void add_to_draft() {
    std::map<std::string, FabricDraft::End> hosts;
    std::vector<FabricDraft::End> ends;
    for (std::size_t i = 0; i < switches_.size(); ++i) {
      const TreeSwitch& of = switches_[i];
      ends.push_back(draft_.add_switch({.name = of.name, .tier = std::min(tier_[i], 3), .pod = of.pod}));
    }
    for (std::size_t i = 0; i < switches_.size(); ++i) {
      for (const std::string& host : switches_[i].hosts) {
        auto found = hosts.find(host);
        if (found == hosts.end()) {
          found = hosts.emplace(host, draft_.add_endpoint(host, "")).first;
        }
        draft_.add_cables(found->second, ends[i], kUnreportedNicRate, 1);
      }
      for (const std::size_t child : below_[i]) {
        draft_.add_cables(ends[child], ends[i], kUnreportedNicRate, cables_up_[child]);
      }
    }
    if (hosts.empty()) {
      throw Error("lists no hosts", where_);
    }
  }

  std::vector<TreeSwitch> switches_;
  std::string where_;
  FabricDraft draft_;
  std::map<std::string, std::size_t> index_;
  std::vector<std::vector<std::size_t>> below_;
  std::vector<std::int32_t> parents_;
  std::vector<std::size_t> order_;
  std::vector<std::int32_t> tier_;
  std::vector<std::int32_t> cables_up_;
};

}  // namespace

Cluster tree_cluster(std::vector<TreeSwitch> switches, const std::string& where) {
  return TreeBuilder(std::move(switches), where).build();
}

}  // namespace trainyard
