#include "simulator/collective/collective_sweep.h"

#include <algorithm>

#include "core/error.h"
#include "simulator/collective/nccl_tuning.h"

namespace trainyard::simulator {

namespace {

const NcclEstimate* best_of(const std::vector<NcclEstimate>& estimates, FlowAlgorithm algorithm,
                            std::optional<NcclProtocol> protocol) {
  const NcclEstimate* best = nullptr;
  for (const NcclEstimate& estimate : estimates) {
    const bool wanted =
        nccl_algorithm(algorithm) == estimate.algorithm && (!protocol || estimate.protocol == *protocol);
    if (wanted && (best == nullptr || estimate.time < best->time)) {
      best = &estimate;
    }
  }
  return best;
}

void slow_down(CollectivePrice& price, double factor) {
  for (Seconds* time : {&price.time, &price.best, &price.worst}) {
    *time *= factor;
  }
  for (BytesPerSecond* rate : {&price.algorithm_bandwidth, &price.bus_bandwidth, &price.low, &price.high}) {
    *rate /= factor;
  }
}

class Sweep {
 public:
  Sweep(CollectivePricer& pricer, const CollectiveModels& models, const SweepChoice& choice)
      : pricer_(pricer), models_(models), choice_(choice), possible_(pricer.algorithms()) {
    if (choice.algorithm) {
      const Applicable applies = pricer.can(*choice.algorithm);
      if (!applies.yes) {
        throw Error(std::string(to_string(*choice.algorithm)) + " " + applies.reason, "--algorithm",
                    "one of: auto, all" + names());
      }
    }
  }

  void add(Bytes size) {
    estimates_ = nccl_estimates(pricer_.site(), pricer_.question().op, size, models_.facts);
    const FlowAlgorithm chosen = nccls_choice(pricer_.site(), pricer_.question().op, size, possible_, models_.facts);
    std::vector<SweepRow> rows;
    for (const FlowAlgorithm algorithm : possible_) {
      rows.push_back(row(algorithm, size, std::nullopt));
    }
    const auto fastest = std::min_element(
        rows.begin(), rows.end(), [](const SweepRow& a, const SweepRow& b) { return a.price.time < b.price.time; });
    for (const FlowAlgorithm algorithm : possible_) {
      if (choice_.all || algorithm == choice_.algorithm.value_or(chosen)) {
        SweepRow wanted = row(algorithm, size, choice_.protocol);
        wanted.nccl_choice = algorithm == chosen && !choice_.protocol;
        if (wanted.nccl_choice) {
          hold_to_measured(wanted, size);
        }
        wanted.fastest = fastest->price.algorithm;
        wanted.fastest_time = fastest->price.time;
        rows_.push_back(wanted);
      }
    }
  }

  std::vector<SweepRow> take() { return std::move(rows_); }

 private:
  std::string names() const {
    std::string text;
    for (const FlowAlgorithm algorithm : possible_) {
      text += ", " + std::string(to_string(algorithm));
    }
    return text;
  }

  // On one node the usual algorithm's curve was fitted to what NCCL's default took at every size, whatever it ran at
  // small ones: another choice of its isn't slower than that.
  void hold_to_measured(SweepRow& row, Bytes size) {
    const CollectiveSite& site = pricer_.site();
    const FlowAlgorithm usual = flow_algorithm(usual_algorithm(site, pricer_.question().op, models_.facts));
    const bool can = std::find(possible_.begin(), possible_.end(), usual) != possible_.end();
    if (site.nodes != 1 || usual == row.price.algorithm || !can) {
      return;
    }
    CollectivePrice measured = pricer_.price(usual, size);
    if (measured.time < row.price.time) {
      measured.algorithm = row.price.algorithm;
      row.price = measured;
    }
  }

  SweepRow row(FlowAlgorithm algorithm, Bytes size, std::optional<NcclProtocol> protocol) {
    SweepRow row;
    row.price = pricer_.price(algorithm, size);
    const NcclEstimate* best = best_of(estimates_, algorithm, std::nullopt);
    if (best == nullptr) {
      return row;
    }
    row.protocol = best->protocol;
    if (protocol) {
      const NcclEstimate* wanted = best_of(estimates_, algorithm, protocol);
      if (wanted == nullptr) {
        if (choice_.all) {
          return row;
        }
        throw Error(std::string(to_string(algorithm)) + " has no protocol " + std::string(to_string(*protocol)),
                    "--protocol", "leave it out: NCCL takes " + std::string(to_string(best->protocol)));
      }
      row.protocol = protocol;
      slow_down(row.price, wanted->time / best->time);
    }
    return row;
  }

  CollectivePricer& pricer_;
  const CollectiveModels& models_;
  const SweepChoice& choice_;
  std::vector<FlowAlgorithm> possible_;
  std::vector<NcclEstimate> estimates_;  // of the size at hand
  std::vector<SweepRow> rows_;
};

}  // namespace

std::vector<SweepRow> sweep(CollectivePricer& pricer, const CollectiveModels& models, std::span<const Bytes> sizes,
                            const SweepChoice& choice) {
  Sweep sweep(pricer, models, choice);
  for (const Bytes size : sizes) {
    sweep.add(size);
  }
  return sweep.take();
}

FlowAlgorithm nccls_choice(const CollectiveSite& site, CollectiveOp op, Bytes size,
                           std::span<const FlowAlgorithm> possible, const LinkFacts& facts) {
  const std::vector<NcclEstimate> estimates = nccl_estimates(site, op, size, facts);
  const auto chosen = nccl_choice(site, size, estimates);
  const FlowAlgorithm algorithm = chosen ? flow_algorithm(estimates[*chosen].algorithm) : FlowAlgorithm::kDirect;
  const bool can = std::find(possible.begin(), possible.end(), algorithm) != possible.end();
  check(can || !possible.empty(), "an algorithm that can serve the operation");
  return can ? algorithm : possible.front();
}

RoutingKind default_routing(const Cluster& cluster) {
  return cluster.congestion_control == CongestionControl::kCredit ? RoutingKind::kAdaptive : RoutingKind::kHash;
}

}  // namespace trainyard::simulator
