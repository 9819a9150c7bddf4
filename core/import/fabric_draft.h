// A fabric as files describe it: hosts with their endpoints, switches, and cables between them.
//
// finish() makes a Cluster of it: NIC vertices host by host, switches by tier, parallel equal cables as one link.
// The tier of a switch is the least number of cables from a host (1 leaf, 2 spine, 3 and more core), unless the
// file says it. An endpoint that stands for all NICs of its host, in files that know only hosts, has the host's name;
// one of several has "host/nic".
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/cluster/cluster.h"
#include "core/import/node_names.h"
#include "core/import/parts.h"

namespace trainyard {

class FabricDraft {
 public:
  explicit FabricDraft(std::string where) : where_(std::move(where)) {}

  using End = std::size_t;  // a switch or an endpoint

  struct Switch {
    std::string name;
    std::string type;
    std::optional<std::int32_t> ports;
    std::optional<std::int32_t> tier;  // 1, 2, 3
    std::optional<std::int32_t> pod;
  };
  End add_switch(Switch of);
  // `nic` empty: stands for all NICs of the host. `host` empty: not known.
  End add_endpoint(const std::string& host, const std::string& nic, std::optional<std::int32_t> rail = std::nullopt);
  void add_cables(End a, End b, BytesPerSecond rate, std::int32_t width);

  void sort_hosts();  // by name, numbers as numbers; else in the order added
  Cluster finish(std::string name) &&;

 private:
  struct Endpoint {
    std::optional<std::size_t> host;
    std::string nic;
    std::optional<std::int32_t> rail;
  };
  struct Item {
    bool is_switch;
    std::size_t index;  // into switches_ or endpoints_
  };
  struct Cables {
    End a;
    End b;
    BytesPerSecond rate;
    std::int32_t width;
  };

  void check_room() const;
  std::vector<std::int32_t> tiers() const;  // by switch
  void place_endpoints(Cluster& cluster, UniqueNames& unique, std::vector<VertexId>& vertex) const;
  void place_switches(Cluster& cluster, const Parts& parts, UniqueNames& unique, std::vector<VertexId>& vertex) const;
  std::vector<Cables> bundled() const;

  std::string where_;
  std::vector<Item> items_;
  std::vector<Switch> switches_;
  std::vector<Endpoint> endpoints_;
  std::vector<std::string> hosts_;
  std::vector<std::size_t> host_order_;
  std::map<std::string, std::size_t> host_index_;
  std::vector<Cables> cables_;
};

// Says that the file gives no rates: cables count as 10 Gb/s each until a node file says what its NICs have.
std::string unreported_rates_note();

}  // namespace trainyard
