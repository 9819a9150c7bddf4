#include "core/import/topograph_yaml.h"

#include <map>
#include <set>
#include <vector>

#include "core/error.h"
#include "core/import/host_list.h"
#include "core/import/limits.h"
#include "core/import/switch_tree.h"
#include "core/import/text_lines.h"
#include "core/import/yaml_document.h"

namespace trainyard {

namespace {

using Kind = YamlValue::Kind;

class ModelReader {
 public:
  ModelReader(std::string_view text, const std::string& where) : where_(where), root_(parse_yaml(text, where)) {}

  Cluster read() {
    expect(root_, Kind::kMap, "a map with switches and blocks");
    for (std::size_t i = 0; i < root_.keys.size(); ++i) {
      const std::string& key = root_.keys[i];
      if (key == "switches") {
        read_switches(root_.items[i]);
      } else if (key == "blocks" || key == "capacity_blocks") {
        read_blocks(root_.items[i]);
      } else {
        fail(root_.items[i], "key " + quote(key) + " is not known", "the file has switches and blocks");
      }
    }
    add_named_switches();
    Cluster cluster = tree_cluster(std::move(switches_), where_);
    if (!domains_.empty()) {
      cluster.notes.push_back("accelerator domains (NVLink) that the hosts are in, by their annotations: " +
                              std::to_string(domains_.size()));
    }
    return cluster;
  }

 private:
  [[noreturn]] void fail(const YamlValue& value, const std::string& what, const std::string& hint = {}) const {
    throw Error(what, at_line(where_, value.line), hint);
  }
  void expect(const YamlValue& value, Kind kind, const std::string& what) const {
    if (value.kind != kind) {
      fail(value, "expected " + what);
    }
  }

  std::vector<std::string> texts(const YamlValue& list) const {
    expect(list, Kind::kSequence, "a list of names");
    std::vector<std::string> found;
    for (const YamlValue& item : list.items) {
      expect(item, Kind::kScalar, "a name");
      found.push_back(item.text);
    }
    return found;
  }

  std::vector<std::string> hosts(const YamlValue& list) {
    std::vector<std::string> found;
    for (const std::string& text : texts(list)) {
      const auto names = expand_host_list(text, at_line(where_, list.line), kImportHostLimit - names_);
      names_ += names.size();
      found.insert(found.end(), names.begin(), names.end());
    }
    return found;
  }

  TreeSwitch& switch_named(const std::string& name, std::size_t line) {
    const auto [found, is_new] = index_.try_emplace(name, switches_.size());
    if (is_new) {
      switches_.push_back({.name = name, .where = at_line(where_, line)});
    }
    return switches_[found->second];
  }

  void read_switches(const YamlValue& map) {
    expect(map, Kind::kMap, "a map of switches");
    for (std::size_t i = 0; i < map.keys.size(); ++i) {
      const YamlValue& given = map.items[i];
      TreeSwitch& of = switch_named(map.keys[i], given.line);
      if (given.kind == Kind::kNull) {
        continue;
      }
      expect(given, Kind::kMap, "a map with switches, nodes or labels");
      if (const YamlValue* below = given.find("switches")) {
        of.switches = texts(*below);
      }
      if (const YamlValue* nodes = given.find("nodes")) {
        of.hosts = hosts(*nodes);
      }
    }
  }

  void read_blocks(const YamlValue& list) {
    expect(list, Kind::kSequence, "a list of blocks");
    for (const YamlValue& block : list.items) {
      expect(block, Kind::kMap, "a block with switch and nodes");
      const YamlValue* name = block.find("switch");
      const YamlValue* nodes = block.find("nodes");
      if (name == nullptr || nodes == nullptr) {
        fail(block, "a block without switch or nodes");
      }
      expect(*name, Kind::kScalar, "the name of a switch");
      const std::vector<std::string> found = hosts(*nodes);
      TreeSwitch& of = switch_named(name->text, name->line);
      of.hosts.insert(of.hosts.end(), found.begin(), found.end());
      if (const YamlValue* annotations = block.find("annotations")) {
        read_annotations(*annotations);
      }
    }
  }

  void read_annotations(const YamlValue& map) {
    expect(map, Kind::kMap, "a map of annotations");
    for (std::size_t i = 0; i < map.keys.size(); ++i) {
      if (map.keys[i].ends_with("/domain")) {
        domains_.insert(map.items[i].text);
      }
    }
  }

  void add_named_switches() {
    for (std::size_t i = 0; i < switches_.size(); ++i) {
      const std::vector<std::string> below = switches_[i].switches;
      for (const std::string& name : below) {
        switch_named(name, root_.line);
      }
    }
  }

  std::string where_;
  YamlValue root_;
  std::vector<TreeSwitch> switches_;
  std::map<std::string, std::size_t> index_;
  std::set<std::string> domains_;
  std::size_t names_ = 0;
};

}  // namespace

Cluster import_topograph_yaml(std::string_view text, const std::string& where) {
  require_text(text, where);
  return ModelReader(text, where).read();
}

}  // namespace trainyard
