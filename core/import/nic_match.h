// Which NIC of a node is which NIC of a host in a fabric's file: rules in combine.h. Not a public header.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace trainyard {

// The number a NIC's name ends in: mlx5_3 is 3. DGX's descriptions count from one: HCA-4 is 3 as well.
std::optional<std::int32_t> nic_number(std::string_view name);

class NicMatch {
 public:
  // Names in the node's order, and of all NICs in the fabric.
  NicMatch(std::vector<std::string> node_nics, const std::set<std::string>& fabric_nics);

  // For each NIC of a host the position of the node's; absent where that can't be told.
  std::optional<std::vector<std::size_t>> match(const std::vector<std::string>& host_nics) const;

 private:
  std::optional<std::vector<std::size_t>> by_name(const std::vector<std::string>& host_nics) const;
  std::optional<std::vector<std::size_t>> by_number(const std::vector<std::string>& host_nics,
                                                    const std::vector<std::int32_t>& numbers) const;

  std::vector<std::string> nics_;
  std::vector<std::int32_t> node_numbers_;    // by NIC of the node; empty if they have none, or not distinct ones
  std::vector<std::int32_t> fabric_numbers_;  // sorted; empty likewise
};

}  // namespace trainyard
