#include "simulator/collective/flow_group_cost.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/error.h"
#include "simulator/collective/collective_sweep.h"
#include "simulator/collective/flow_site.h"
#include "simulator/collective/nccl_tuning.h"

namespace trainyard::simulator {

namespace {

constexpr double kTenthOverTwentieth = 1.2816 / 1.6449;  // normal quantiles of 90 % and 95 %
constexpr double kMostCongestion = 8.0;

double quantile(const std::vector<double>& sorted, double share) {
  const double at = share * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(at);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (at - static_cast<double>(below)) * (sorted[above] - sorted[below]);
}

WireTime scaled(WireTime wire, double factor) {
  wire.inside.seconds *= factor;
  for (Drain& drain : wire.across) {
    drain.seconds *= factor;
  }
  wire.usual_inside *= factor;
  wire.usual_across *= factor;
  return wire;
}

// A ring's all-gather and all-reduce put the flows of its reduce-scatter on the same links, once and twice.
bool rings_alike(CollectiveOp op) { return op == CollectiveOp::kAllGather || op == CollectiveOp::kAllReduce; }

}  // namespace

FlowGroupOptions usual_flow_options(const Cluster& cluster) {
  FlowGroupOptions options;
  options.routing.kind = default_routing(cluster);
  return options;
}

FlowGroupCost::FlowGroupCost(const Cluster& cluster, std::int64_t ranks, CollectiveModels models,
                             FlowGroupOptions options)
    : ranks_(ranks), models_(std::move(models)), options_(options), gpus_(cluster.gpus()), fabric_(cluster) {
  if (ranks > static_cast<std::int64_t>(gpus_.size())) {
    throw Error(std::to_string(ranks) + " ranks on " + std::to_string(gpus_.size()) + " GPUs",
                cluster.name.empty() ? "the cluster" : cluster.name, "a larger cluster, or fewer ranks");
  }
}

// The group whose first rank is `base`; empty where there is none, or not all of it.
std::vector<std::int64_t> FlowGroupCost::ranks_from(std::int64_t base, const GroupShape& group) const {
  std::vector<std::int64_t> ranks;
  if (group.mirrored > 0) {
    const std::int64_t place = base / group.stride[0] % group.mirrored;
    const std::int64_t image = base + (group.mirrored - 1 - 2 * place) * group.stride[0];
    if (2 * place < group.mirrored - 1 && image < ranks_) {
      ranks = {base, image};
    }
    return ranks;
  }
  const bool first = (base / group.stride[0]) % group.count[0] == 0 && (base / group.stride[1]) % group.count[1] == 0;
  const std::int64_t last = base + (group.count[0] - 1) * group.stride[0] + (group.count[1] - 1) * group.stride[1];
  if (!first || last >= ranks_) {
    return ranks;
  }
  ranks.reserve(static_cast<std::size_t>(group.size()));
  for (std::int64_t j = 0; j < group.count[1]; ++j) {
    for (std::int64_t i = 0; i < group.count[0]; ++i) {
      ranks.push_back(base + i * group.stride[0] + j * group.stride[1]);
    }
  }
  return ranks;
}

std::vector<std::vector<VertexId>> FlowGroupCost::members_of(CollectiveOp op, const GroupShape& group) const {
  const std::int64_t size = group.size();
  const std::int64_t flows_each = op == CollectiveOp::kAllToAll ? size * size : 2 * size;
  std::vector<std::vector<VertexId>> groups;
  std::int64_t left_out = 0;
  for (std::int64_t base = 0; base < ranks_; ++base) {
    const std::vector<std::int64_t> ranks = ranks_from(base, group);
    if (ranks.empty()) {
      continue;
    }
    if (!groups.empty() && static_cast<std::int64_t>(groups.size() + 1) * flows_each > kMostFlows) {
      ++left_out;
      continue;
    }
    std::vector<VertexId>& members = groups.emplace_back();
    members.reserve(ranks.size());
    for (const std::int64_t rank : ranks) {
      members.push_back(gpus_[static_cast<std::size_t>(rank)]);
    }
  }
  check(!groups.empty(), "a group shape that the ranks hold");
  if (left_out > 0) {
    note("of " + std::to_string(groups.size() + static_cast<std::size_t>(left_out)) + " groups of " +
         std::to_string(size) + " in " + std::string(to_string(op)) + ", " + std::to_string(groups.size()) +
         " stand for all");
  }
  return groups;
}

// All-to-all alone may take fewer groups than the others (kMostFlows).
const std::vector<GroupLayout>& FlowGroupCost::layouts_of(CollectiveOp op, const GroupShape& group) const {
  const CollectiveOp alike = op == CollectiveOp::kAllToAll ? op : CollectiveOp::kAllReduce;
  const Key key = key_of(alike, group);
  const auto kept =
      std::find_if(layouts_.begin(), layouts_.end(), [&](const auto& entry) { return entry.first == key; });
  if (kept != layouts_.end()) {
    layouts_.splice(layouts_.begin(), layouts_, kept);
    return layouts_.front().second;
  }
  std::vector<GroupLayout> made;
  for (const std::vector<VertexId>& members : members_of(op, group)) {
    made.push_back(fabric_.layout(members));
  }
  if (layouts_.size() == kLayoutsKept) {
    layouts_.pop_back();
  }
  layouts_.emplace_front(key, std::move(made));
  return layouts_.front().second;
}

FlowGroupCost::Entry& FlowGroupCost::entry_of(CollectiveOp op, const GroupShape& group) const {
  const auto [found, added] = entries_.try_emplace(key_of(op, group));
  Entry& entry = found->second;
  if (added) {
    const std::vector<GroupLayout>& layouts = layouts_of(op, group);
    entry.site = site_of(fabric_.cluster(), fabric_.graph(), fabric_.domains(), layouts.front(), options_.sharp,
                         fabric_.routes().network());
    entry.possible = serving_algorithms(fabric_, entry.site, layouts, op);
  }
  return entry;
}

const CollectiveCurve& FlowGroupCost::curve_of(Entry& entry, CollectiveOp op, FlowAlgorithm algorithm) const {
  const auto found = entry.curves.find(algorithm);
  return found != entry.curves.end()
             ? found->second
             : entry.curves.emplace(algorithm, collective_curve(entry.site, op, algorithm, models_)).first->second;
}

// known: of fewer seeds, or of none.
WireTime FlowGroupCost::wire_of(CollectiveOp op, const GroupShape& group, FlowAlgorithm algorithm, int seeds,
                                WireTime known) const {
  if (algorithm == FlowAlgorithm::kRing && rings_alike(op)) {
    constexpr CollectiveOp kOnce = CollectiveOp::kReduceScatter;
    const WireTime& once = solve(entry_of(kOnce, group), kOnce, group, algorithm, seeds).wire;
    return scaled(once, op == CollectiveOp::kAllReduce ? 2.0 : 1.0);
  }
  const WireQuestion question = {algorithm, op, options_.setup, options_.routing, seeds};
  const std::vector<GroupLayout>& layouts = layouts_of(op, group);
  if (known.across.empty()) {
    return wire_time(fabric_, layouts, question);
  }
  solve_more_seeds(fabric_, layouts, question, known);
  return known;
}

const FlowGroupCost::Solved& FlowGroupCost::solve(Entry& entry, CollectiveOp op, const GroupShape& group,
                                                  FlowAlgorithm algorithm, int seeds) const {
  Solved& solved = entry.solved[algorithm];
  const bool draws_lots = options_.routing.kind == RoutingKind::kHash && !solved.wire.across.empty();
  if (solved.seeds >= seeds || (solved.seeds > 0 && !draws_lots)) {
    return solved;
  }
  solved.wire = wire_of(op, group, algorithm, seeds, std::move(solved.wire));
  solved.seeds = seeds;
  for (const std::string& text : solved.wire.notes) {
    note(text);
  }
  const WireOverhead overhead = overhead_of(solved.wire, curve_of(entry, op, algorithm));
  solved.seconds.clear();
  for (std::size_t seed = 0; seed < std::max<std::size_t>(solved.wire.across.size(), 1); ++seed) {
    solved.seconds.push_back(together(solved.wire, overhead, seed).seconds);
  }
  return solved;
}

FlowGroupCost::Choice FlowGroupCost::choose(CollectiveOp op, Bytes size, const GroupShape& group, int seeds) const {
  Choice choice;
  choice.entry = &entry_of(op, group);
  choice.algorithm = nccls_choice(choice.entry->site, op, size, choice.entry->possible, models_.facts);
  // On one node the usual algorithm's curve was fitted to NCCL's default at every size (collective_sweep.cpp).
  if (choice.entry->site.nodes == 1) {
    const FlowAlgorithm usual = flow_algorithm(usual_algorithm(choice.entry->site, op, models_.facts));
    const auto& possible = choice.entry->possible;
    if (std::find(possible.begin(), possible.end(), usual) != possible.end()) {
      choice.algorithm = usual;
    }
  }
  choice.curve = &curve_of(*choice.entry, op, choice.algorithm);
  const CollectiveParts parts = collective_parts(choice.curve->curve, 0.0, size);
  if (kMostCongestion * parts.protocol > parts.latency + parts.floor) {
    choice.solved = &solve(*choice.entry, op, group, choice.algorithm, seeds);
  }
  return choice;
}

GroupTime FlowGroupCost::time(CollectiveOp op, Bytes size, const GroupShape& group) const {
  if (group.size() <= 1 || size.si() <= 0.0) {
    return {};
  }
  const std::lock_guard lock(mutex_);
  const Choice choice = choose(op, size, group, options_.seeds);
  std::vector<double> sorted = choice.solved != nullptr ? choice.solved->seconds : std::vector<double>{0.0};
  std::sort(sorted.begin(), sorted.end());
  const auto at = [&](double share) { return collective_time(choice.curve->curve, quantile(sorted, share), size); };
  const CurvePrediction band = predict(choice.curve->shape, models_.curves, size);
  const auto width = [](double curve_ratio, double seed_ratio) {
    return std::hypot(std::log(curve_ratio), kTenthOverTwentieth * std::log(seed_ratio));
  };
  GroupTime result;
  result.time = at(0.5);
  result.low = std::exp(-width(band.high / band.bus, result.time / at(0.05))) * result.time;
  result.high = std::exp(width(band.bus / band.low, at(0.95) / result.time)) * result.time;
  return result;
}

Seconds FlowGroupCost::time_on_seed(CollectiveOp op, Bytes size, const GroupShape& group, int seed, int wanted) const {
  if (group.size() <= 1 || size.si() <= 0.0) {
    return {};
  }
  const std::lock_guard lock(mutex_);
  const Choice choice = choose(op, size, group, std::max(seed + 1, wanted));
  double wire = 0.0;
  if (choice.solved != nullptr) {
    const std::size_t of = choice.solved->seconds.size();
    wire = choice.solved->seconds[std::min(static_cast<std::size_t>(seed), of - 1)];
  }
  return collective_time(choice.curve->curve, wire, size);
}

void FlowGroupCost::note(const std::string& text) const {
  if (std::find(notes_.begin(), notes_.end(), text) == notes_.end()) {
    notes_.push_back(text);
  }
}

std::vector<std::string> FlowGroupCost::notes() const {
  const std::lock_guard lock(mutex_);
  return notes_;
}

}  // namespace trainyard::simulator
