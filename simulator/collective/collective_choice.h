// Every way NCCL could run a collective, priced twice: as NCCL's own tables have it, by which it chooses, and by fitted
// curves. Says which one NCCL takes and which is the fastest by the curves.
//
//   time(algorithm, protocol) = curve(algorithm) x NCCL's time(algorithm, protocol) / NCCL's least time(algorithm)
// since a curve is of an algorithm with its best protocol at each size. low and high: the 80 % interval of
// curve_table.h.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "simulator/collective/collective_models.h"
#include "simulator/collective/nccl_tuning.h"

namespace trainyard::simulator {

struct PricedCollective {
  NcclAlgorithm algorithm = NcclAlgorithm::kRing;
  NcclProtocol protocol = NcclProtocol::kSimple;
  int channels = 0;
  std::optional<Seconds> nccl_time;  // none for all-to-all and send/receive, which NCCL doesn't tune
  Seconds time;                      // by the curve, with its interval
  Seconds low;
  Seconds high;
  Seconds floor;    // H: once a collective, of the host
  Seconds latency;  // D a: of the dependent hops; O(n) for rings, O(log n) for trees
  Seconds wire;     // w/B
  CurveEvidence evidence = CurveEvidence::kBorrowed;
  std::string curve_class;  // whose constants: "hopper/nvls"
};

struct CollectivePrices {
  std::vector<PricedCollective> options;  // never empty
  std::size_t nccl_choice = 0;            // what NCCL runs
  std::size_t fastest = 0;                // by the curves
  const PricedCollective& chosen() const { return options.at(nccl_choice); }
};

// busbw of a time: size F / time.
BytesPerSecond bus_bandwidth(CollectiveOp op, int ranks, Bytes size, Seconds time);

// Throws Error for a site that can't be priced (curve_shape.h).
CollectivePrices price_collective(const CollectiveSite& site, CollectiveOp op, Bytes size,
                                  const CollectiveModels& models);

}  // namespace trainyard::simulator
