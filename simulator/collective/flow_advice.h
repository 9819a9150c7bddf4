// What would make a collective faster: settings of switches, NICs and NCCL, each priced by pricing the collective again
// with that one change.
//
//   gain = time now / time with the change - 1
//
//   queue pairs      4 for each channel instead of 1, so that a hash spreads smaller flows
//   hash fields      queue pairs and channels in the switches' hash; a different hash in every switch
//   routing          adaptive routing or packet spraying in place of a hash
//   PXN, CROSS_NIC   the other way than now
//   rank order       nodes sorted by pod and leaf, so that rings leave a leaf as seldom as they can
//   algorithm        another one than NCCL's choice
//
// Only gains from `threshold` on, largest first. Not additive: each is against things as they are.
#pragma once

#include <string>
#include <vector>

#include "simulator/collective/flow_price.h"

namespace trainyard::simulator {

struct Advice {
  std::string change;   // "4 queue pairs a channel"
  std::string setting;  // "NCCL_IB_QPS_PER_CONNECTION=4"
  double gain = 0.0;    // 0.25: takes 1/1.25 of the time
  Seconds before;
  Seconds after;
};

constexpr double kLeastGain = 0.02;
constexpr int kAdviceSeeds = 4;  // at most: before and after are medians over these

std::vector<Advice> advise(CollectiveFabric& fabric, const CollectiveModels& models, CollectivePricer& now,
                           FlowAlgorithm algorithm, Bytes size, double threshold = kLeastGain);

// The ranks by pod, leaf, node and place in the cluster.
std::vector<VertexId> ordered_by_leaf(CollectiveFabric& fabric, std::vector<VertexId> ranks);

}  // namespace trainyard::simulator
