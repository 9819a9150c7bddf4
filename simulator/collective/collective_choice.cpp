#include "simulator/collective/collective_choice.h"

#include <algorithm>
#include <limits>
#include <map>

#include "core/error.h"

namespace trainyard::simulator {

namespace {

PricedCollective priced(const CollectiveSite& site, CollectiveOp op, NcclAlgorithm algorithm, Bytes size,
                        const CollectiveModels& models) {
  const CurveShape shape = curve_shape(site, op, algorithm, models.facts);
  const CurvePrediction prediction = predict(shape, models.curves, size);
  const Curve curve = make_curve(shape, models.curves);
  PricedCollective option;
  option.algorithm = algorithm;
  option.time = prediction.time;
  // The band is of the bus bandwidth: the least time goes with the most.
  option.low = prediction.time * (prediction.bus / prediction.high);
  option.high = prediction.time * (prediction.bus / prediction.low);
  option.floor = from_si<Seconds>(curve.floor_s);
  for (const CurveLevel& level : curve.levels) {
    option.latency += from_si<Seconds>(level.hops * level.hop_s);
  }
  option.wire = size * shape.wire_factor / curve.peak();
  option.evidence = prediction.evidence;
  option.curve_class = prediction.curve_class;
  return option;
}

std::size_t fastest_of(const std::vector<PricedCollective>& options) {
  const auto least =
      std::min_element(options.begin(), options.end(), [](const auto& a, const auto& b) { return a.time < b.time; });
  return static_cast<std::size_t>(least - options.begin());
}

}  // namespace

BytesPerSecond bus_bandwidth(CollectiveOp op, int ranks, Bytes size, Seconds time) {
  return size * bus_factor(op, ranks) / time;
}

CollectivePrices price_collective(const CollectiveSite& site, CollectiveOp op, Bytes size,
                                  const CollectiveModels& models) {
  CollectivePrices prices;
  const std::vector<NcclEstimate> estimates = nccl_estimates(site, op, size, models.facts);
  if (estimates.empty()) {
    PricedCollective option = priced(site, op, NcclAlgorithm::kDirect, size, models);
    option.channels = 1;
    prices.options.push_back(option);
    return prices;
  }
  std::map<NcclAlgorithm, Seconds> least;
  for (const NcclEstimate& estimate : estimates) {
    const auto [entry, fresh] = least.try_emplace(estimate.algorithm, estimate.time);
    entry->second = fresh ? entry->second : min(entry->second, estimate.time);
  }
  for (const NcclEstimate& estimate : estimates) {
    PricedCollective option = priced(site, op, estimate.algorithm, size, models);
    const double slower = estimate.time / least.at(estimate.algorithm);
    option.protocol = estimate.protocol;
    option.channels = estimate.channels;
    option.nccl_time = estimate.time;
    option.time *= slower;
    option.low *= slower;
    option.high *= slower;
    prices.options.push_back(option);
  }
  prices.nccl_choice = nccl_choice(site, size, estimates).value_or(0);
  prices.fastest = fastest_of(prices.options);
  return prices;
}

}  // namespace trainyard::simulator
