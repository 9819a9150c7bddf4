#include "simulator/collective/curve_group_cost.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "simulator/collective/collective_choice.h"

namespace trainyard::simulator {

namespace {

constexpr double kFirst = 10.0;  // log2 bytes
constexpr double kStep = 0.5;

CollectiveSite site_of(const CollectiveSite& node, const GroupShape& group) {
  CollectiveSite site = node;
  site.ranks = static_cast<int>(group.size());
  site.nodes = static_cast<int>(group.nodes());
  const auto concurrent = static_cast<int>(std::max<std::int64_t>(group.concurrent, 1));
  site.nics = std::max(1, node.nics / concurrent);
  site.nic_rate = node.nic_sum() / static_cast<double>(concurrent) / static_cast<double>(site.nics);
  return site;
}

std::uint64_t key_of(CollectiveOp op, const GroupShape& group) {
  return (static_cast<std::uint64_t>(group.size()) << 32) ^ (static_cast<std::uint64_t>(group.per_node) << 18) ^
         (static_cast<std::uint64_t>(group.concurrent) << 4) ^ static_cast<std::uint64_t>(op);
}

}  // namespace

CurveGroupCost::CurveGroupCost(CollectiveSite node, CollectiveModels models)
    : node_(std::move(node)), models_(std::move(models)) {}

CurveGroupCost::Sampled CurveGroupCost::sample(CollectiveOp op, const GroupShape& group) const {
  const CollectiveSite site = site_of(node_, group);
  Sampled sampled{};
  double least = 0.0;
  for (std::size_t i = 0; i < kSamples; ++i) {
    const Bytes size = from_si<Bytes>(std::exp2(kFirst + kStep * static_cast<double>(i)));
    const CollectivePrices prices = price_collective(site, op, size, models_);
    const PricedCollective& chosen = prices.chosen();
    // A switch of algorithm may make a larger size quicker; a search must not be led by that.
    const double time = std::max(chosen.time.si(), least);
    least = time;
    sampled.time.at(i) = static_cast<float>(std::log2(time));
    sampled.low.at(i) = static_cast<float>(std::log2(chosen.low.si()));
    sampled.high.at(i) = static_cast<float>(std::log2(std::max(chosen.high.si(), time)));
  }
  return sampled;
}

GroupTime CurveGroupCost::time(CollectiveOp op, Bytes size, const GroupShape& group) const {
  if (group.size() <= 1 || size.si() <= 0.0) {
    return {};
  }
  const Sampled* sampled = nullptr;
  {
    const std::lock_guard lock(mutex_);
    std::unique_ptr<const Sampled>& entry = sampled_[key_of(op, group)];
    if (!entry) {
      entry = std::make_unique<const Sampled>(sample(op, group));
    }
    sampled = entry.get();
  }
  const double place = (std::log2(size.si()) - kFirst) / kStep;
  const double at = std::clamp(place, 0.0, static_cast<double>(kSamples - 1));
  const auto below = std::min(static_cast<std::size_t>(at), static_cast<std::size_t>(kSamples - 2));
  const double part = at - static_cast<double>(below);
  // Beyond the last sample time grows with size.
  const double beyond = std::max(0.0, place - static_cast<double>(kSamples - 1)) * kStep;
  const auto read = [&](const std::array<float, kSamples>& values) {
    const double low = values[below];
    return from_si<Seconds>(std::exp2(low + part * (values[below + 1] - low) + beyond));
  };
  return {read(sampled->time), read(sampled->low), read(sampled->high)};
}

}  // namespace trainyard::simulator
