#include "core/import/slurm_topology.h"

#include <array>
#include <map>
#include <vector>

#include "core/document/text_match.h"
#include "core/error.h"
#include "core/import/host_list.h"
#include "core/import/limits.h"
#include "core/import/switch_tree.h"
#include "core/import/text_lines.h"

namespace trainyard {

namespace {

class TopologyReader {
 public:
  TopologyReader(std::string_view text, const std::string& where) : lines_(text), where_(where) {}

  Cluster read() {
    std::string_view line;
    while (lines_.next(line)) {
      const std::string_view content = trimmed(line.substr(0, line.find('#')));
      if (!content.empty()) {
        read_line(content);
      }
    }
    if (switches_.empty()) {
      throw Error("defines no switch and no block", where_);
    }
    if (blocks_ > 0 && blocks_ < switches_.size()) {
      throw Error("defines switches as well as blocks", where_, "a topology.conf is a tree or blocks");
    }
    if (blocks_ > 1) {
      join_blocks();
    }
    Cluster cluster = tree_cluster(std::move(switches_), where_);
    if (blocks_ > 0) {
      cluster.notes.emplace_back(
          "blocks say which hosts are close, not how they are cabled: each is a leaf here, all "
          "below one spine");
    }
    return cluster;
  }

 private:
  using Pairs = std::map<std::string, std::string_view>;

  void read_line(std::string_view content) {
    const Pairs given = pairs(content);
    const bool is_switch = given.contains("switchname");
    if (!is_switch && !given.contains("blockname")) {
      if (given.contains("blocksizes") || given.contains("aggregatedblock")) {
        return;
      }
      fail("expected SwitchName=, BlockName= or BlockSizes=");
    }
    TreeSwitch of{.name = std::string(given.at(is_switch ? "switchname" : "blockname")), .where = here()};
    if (of.name.empty()) {
      fail("an empty name");
    }
    // scontrol lists all nodes below a switch of switches, too.
    if (given.contains("switches")) {
      of.switches = expand(given.at("switches"));
    } else if (given.contains("nodes")) {
      of.hosts = expand(given.at("nodes"));
    } else if (is_switch) {
      fail(quote(of.name) + " has neither Nodes nor Switches");
    }
    blocks_ += is_switch ? 0 : 1;
    switches_.push_back(std::move(of));
  }

  Pairs pairs(std::string_view content) const {
    constexpr std::array<std::string_view, 10> kKeys = {"switchname", "switches",       "nodes",      "linkspeed",
                                                        "level",      "blockname",      "blocksizes", "blocksize",
                                                        "blockindex", "aggregatedblock"};
    Pairs given;
    for (const std::string_view word : words(content)) {
      const std::size_t equals = word.find('=');
      const std::string key = lower_case(word.substr(0, equals));
      bool known = false;
      for (const std::string_view candidate : kKeys) {
        known = known || key == candidate;
      }
      if (equals == std::string_view::npos || !known) {
        fail(quote(word) + " is nothing that topology.conf has",
             "SwitchName, Switches, Nodes, LinkSpeed, BlockName, BlockSizes, each followed by = and a value");
      }
      if (!given.emplace(key, word.substr(equals + 1)).second) {
        fail(key + " is given twice");
      }
    }
    return given;
  }

  std::vector<std::string> expand(std::string_view list) {
    std::vector<std::string> names = expand_host_list(list, here(), kImportHostLimit - names_);
    names_ += names.size();
    return names;
  }

  void join_blocks() {
    TreeSwitch spine{.name = "blocks", .where = where_};
    for (const TreeSwitch& block : switches_) {
      spine.switches.push_back(block.name);
      if (block.name == spine.name) {
        spine.name += "-spine";
      }
    }
    switches_.push_back(std::move(spine));
  }

  std::string here() const { return at_line(where_, lines_.number()); }
  [[noreturn]] void fail(const std::string& what, const std::string& hint = {}) const {
    throw Error(what, here(), hint);
  }

  TextLines lines_;
  std::string where_;
  std::vector<TreeSwitch> switches_;
  std::size_t blocks_ = 0;
  std::size_t names_ = 0;
};

}  // namespace

Cluster import_slurm_topology(std::string_view text, const std::string& where) {
  require_text(text, where);
  return TopologyReader(text, where).read();
}

}  // namespace trainyard
