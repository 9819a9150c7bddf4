#include "simulator/failure/peer_copies.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/error.h"

namespace trainyard::simulator {

double copies_survive(std::int64_t machines, std::int64_t copies, std::int64_t lost) {
  if (copies < 1 || machines < copies || machines % copies != 0) {
    throw Error(fmt::format("{} copies of each shard do not divide {} machines into groups", copies, machines),
                "copies in peers' memory", "choose a number of copies that divides the machines");
  }
  if (lost < 0 || lost > machines) {
    throw Error(fmt::format("{} machines lost of {}", lost, machines), "copies in peers' memory",
                "no more machines can be lost than there are");
  }
  if (lost < copies) {
    return 1.0;
  }
  // C(N-m, k-m) / C(N, k) = product over i < m of (k-i) / (N-i)
  double ratio = 1.0;
  for (std::int64_t i = 0; i < copies; ++i) {
    ratio *= static_cast<double>(lost - i) / static_cast<double>(machines - i);
  }
  return std::max(0.0, 1.0 - static_cast<double>(machines) / static_cast<double>(copies) * ratio);
}

}  // namespace trainyard::simulator
