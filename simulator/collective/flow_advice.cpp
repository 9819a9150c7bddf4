#include "simulator/collective/flow_advice.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <tuple>
#include <unordered_map>

#include "core/error.h"

namespace trainyard::simulator {

namespace {

constexpr int kMoreQueuePairs = 4;

struct Candidate {
  std::string change;
  std::string setting;
  CollectiveQuestion question;
};

// As NCCL_ALGO has it.
std::string_view setting_name(NcclAlgorithm algorithm) {
  constexpr std::array<std::string_view, kNcclAlgorithms> kNames = {"Ring",          "Tree",         "NVLS", "NVLSTree",
                                                                    "CollnetDirect", "CollnetChain", "PAT",  "Ring"};
  return kNames.at(static_cast<std::size_t>(algorithm));
}

class Candidates {
 public:
  explicit Candidates(const CollectiveQuestion& now) : now_(now) {}

  template <class Change>
  void add(std::string change, std::string setting, const Change& apply) {
    Candidate candidate{std::move(change), std::move(setting), now_};
    apply(candidate.question);
    list_.push_back(std::move(candidate));
  }
  std::vector<Candidate> take() { return std::move(list_); }

 private:
  const CollectiveQuestion& now_;
  std::vector<Candidate> list_;
};

void add_routing(Candidates& candidates, const CollectiveQuestion& now) {
  if (now.routing.kind == RoutingKind::kHash) {
    if (now.routing.hash_queue_pair && now.setup.queue_pairs < kMoreQueuePairs) {
      candidates.add(fmt::format("{} queue pairs a channel", kMoreQueuePairs),
                     fmt::format("NCCL_IB_QPS_PER_CONNECTION={} NCCL_IB_SPLIT_DATA_ON_QPS=1", kMoreQueuePairs),
                     [](CollectiveQuestion& q) { q.setup.queue_pairs = kMoreQueuePairs; });
    }
    if (!now.routing.hash_queue_pair) {
      candidates.add("queue pairs in the switches' hash",
                     "switches: hash on the UDP source port or the BTH's queue pair",
                     [](CollectiveQuestion& q) { q.routing.hash_queue_pair = true; });
    }
    if (!now.routing.hash_switch) {
      candidates.add("a hash seed of its own in every switch", "switches: different ECMP seeds by tier",
                     [](CollectiveQuestion& q) { q.routing.hash_switch = true; });
    }
  }
  if (now.routing.kind != RoutingKind::kAdaptive) {
    candidates.add("adaptive routing", "switches: adaptive routing; NCCL_IB_ADAPTIVE_ROUTING=1",
                   [](CollectiveQuestion& q) { q.routing.kind = RoutingKind::kAdaptive; });
  }
  if (now.routing.kind != RoutingKind::kSpray) {
    candidates.add("packet spraying", "switches and NICs that spray and put packets back in order",
                   [](CollectiveQuestion& q) { q.routing.kind = RoutingKind::kSpray; });
  }
}

void add_nccl(Candidates& candidates, const CollectiveQuestion& now) {
  const bool pxn = now.setup.pxn;
  candidates.add(pxn ? "no PXN" : "PXN", pxn ? "NCCL_PXN_DISABLE=1" : "NCCL_PXN_DISABLE=0",
                 [pxn](CollectiveQuestion& q) { q.setup.pxn = !pxn; });
  const bool cross = now.setup.cross_nic;
  candidates.add(cross ? "rings on their rail" : "rings across rails", cross ? "NCCL_CROSS_NIC=0" : "NCCL_CROSS_NIC=1",
                 [cross](CollectiveQuestion& q) { q.setup.cross_nic = !cross; });
}

void add_rank_order(Candidates& candidates, const CollectiveQuestion& now, CollectiveFabric& fabric) {
  std::vector<std::vector<VertexId>> groups;
  groups.reserve(now.groups.size());
  for (const std::vector<VertexId>& group : now.groups) {
    groups.push_back(ordered_by_leaf(fabric, group));
  }
  if (groups != now.groups) {
    candidates.add("ranks in the order of their pods and leaves", "hosts in the launcher's list sorted by leaf",
                   [&](CollectiveQuestion& q) { q.groups = groups; });
  }
}

// Absent where the change can't be: off their rail, ranks of a rail-only network don't reach each other.
std::optional<Seconds> time_with(CollectiveFabric& fabric, const CollectiveModels& models, CollectiveQuestion question,
                                 CollectivePricer& now, FlowAlgorithm algorithm, Bytes size) {
  try {
    CollectivePricer changed(fabric, models, std::move(question), now);
    return changed.price(algorithm, size).time;
  } catch (const Error&) {
    return std::nullopt;
  }
}

Advice compared(std::string change, std::string setting, Seconds before, Seconds after) {
  return {std::move(change), std::move(setting), before / after - 1.0, before, after};
}

}  // namespace

std::vector<VertexId> ordered_by_leaf(CollectiveFabric& fabric, std::vector<VertexId> ranks) {
  const Cluster& cluster = fabric.cluster();
  using Key = std::tuple<std::int32_t, std::int32_t, std::int32_t>;  // pod, leaf, node
  std::unordered_map<std::int32_t, Key> of_domain;
  for (const VertexId gpu : ranks) {
    const std::int32_t domain = fabric.domains().of(gpu);
    if (of_domain.contains(domain)) {
      continue;
    }
    Key key{0, 0, domain};
    const std::vector<VertexId>& nics = fabric.routes().nics(gpu);
    for (const Hop& hop : nics.empty() ? std::span<const Hop>() : fabric.graph().out(nics.front())) {
      if (is_fabric_switch(cluster.vertex(hop.to).kind)) {
        key = {cluster.vertex(hop.to).pod.value_or(0), hop.to.value(), domain};
        break;
      }
    }
    of_domain.emplace(domain, key);
  }
  std::stable_sort(ranks.begin(), ranks.end(), [&](VertexId a, VertexId b) {
    return std::pair(of_domain.at(fabric.domains().of(a)), a) < std::pair(of_domain.at(fabric.domains().of(b)), b);
  });
  return ranks;
}

std::vector<Advice> advise(CollectiveFabric& fabric, const CollectiveModels& models, CollectivePricer& now,
                           FlowAlgorithm algorithm, Bytes size, double threshold) {
  const Seconds before = now.price(algorithm, size).time;
  std::vector<Advice> advice;
  for (const FlowAlgorithm other : now.algorithms()) {
    if (other == algorithm) {
      continue;
    }
    const std::string name(to_string(other));
    const auto nccl = nccl_algorithm(other);
    advice.push_back(compared(name + " in place of " + std::string(to_string(algorithm)),
                              nccl ? "NCCL_ALGO=" + std::string(setting_name(*nccl))
                                   : "over two process groups: inside nodes, and across them",
                              before, now.price(other, size).time));
  }
  if (now.groups().front().nodes.size() > 1) {
    CollectiveQuestion question = now.question();
    question.seeds = std::min(question.seeds, kAdviceSeeds);
    Candidates candidates(question);
    add_routing(candidates, question);
    add_nccl(candidates, question);
    add_rank_order(candidates, question, fabric);
    CollectivePricer same(fabric, models, question, now);  // on the same seeds as the changes
    const Seconds with_few_seeds = same.price(algorithm, size).time;
    for (Candidate& candidate : candidates.take()) {
      const std::optional<Seconds> after =
          time_with(fabric, models, std::move(candidate.question), now, algorithm, size);
      if (after) {
        advice.push_back(compared(std::move(candidate.change), std::move(candidate.setting), with_few_seeds, *after));
      }
    }
  }
  advice.erase(std::remove_if(advice.begin(), advice.end(), [&](const Advice& a) { return a.gain < threshold; }),
               advice.end());
  std::stable_sort(advice.begin(), advice.end(), [](const Advice& a, const Advice& b) { return a.gain > b.gain; });
  return advice;
}

}  // namespace trainyard::simulator
