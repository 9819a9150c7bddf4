// Switches that list what is below them, as schedulers know a fabric -> a Cluster.
//
// Such files give no rates and no numbers of cables. Each host is one endpoint of 10 Gb/s (until --node says what its
// NICs have) and nothing is oversubscribed: a switch has as many cables up as hosts below, shared among its parents.
// The tier of a switch is 1 + the highest below it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/cluster/cluster.h"

namespace trainyard {

struct TreeSwitch {
  std::string name;
  std::vector<std::string> switches;  // right below it
  std::vector<std::string> hosts;
  std::optional<std::int32_t> pod;
  std::string where;  // for Errors: file and line
};

// An Error for a name given twice, one that isn't defined, and a switch below itself.
Cluster tree_cluster(std::vector<TreeSwitch> switches, const std::string& where);

}  // namespace trainyard
