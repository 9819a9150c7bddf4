// The feed-forward of experts, in layer_time.h's terms.
//
//   tokens of a rank   t/tp with sequence parallelism; each goes to k experts
//   route              a product (tokens, E, h) in 16 bits, and token_bytes per element of a routed copy: sort,
//                      permute, put back, scale
//   dispatch, combine  all-to-all over ep of tokens k h 2 bytes, each way, forward and backward
//   experts            E/ep groups of tokens k etp ep/E rows; the busiest decides: x imbalance
//   shared experts     as a dense feed-forward
// Source: DeepSeek-V3, section 3.2; Megatron-LM, transformer/moe; docs/cost_model.md.
#include "simulator/throughput/expert_time.h"

#include <algorithm>
#include <cmath>

#include "simulator/throughput/layer_time.h"

namespace trainyard::simulator {

namespace {

constexpr double kActivationBytes = 2.0;
constexpr double kEagerActivationBytes = 105.0;

std::size_t at(StepLoss loss) { return static_cast<std::size_t>(loss); }

double real(std::int64_t value) { return static_cast<double>(value); }

}  // namespace

double expert_activation_bytes(const ModelSpec& model, const MachineRates& rates) {
  const bool eager = model.experts && model.experts->expert_bias && rates.cast_bytes <= 0.0;
  return eager ? kEagerActivationBytes : model.gated_feed_forward ? 6.0 : 4.0;
}

double distinct_nodes_share(double experts_per_token, double nodes) {
  return nodes * (1.0 - std::pow(1.0 - 1.0 / nodes, experts_per_token)) / experts_per_token;
}

void LayerPricer::add_experts(Passes& passes) const {
  const MixtureOfExperts& experts = *model_.experts;
  const double hidden = real(model_.hidden);
  const double top = real(experts.experts_per_token);
  const double kept = experts.capacity_factor.value_or(1.0);
  const double routed = norm_tokens_ * top * kept;  // copies that leave this rank
  const double ep = layout_.expert;
  const double etp = layout_.expert_tensor;
  const double local = std::max(1.0, real(experts.experts) / ep);
  const double rows = routed * etp * ep / real(experts.experts);
  const double inner = real(experts.expert_feed_forward) / etp;

  add_gemm(passes, {{norm_tokens_, real(experts.experts), hidden}, 1.0, 1.0, true});
  Passes groups;
  add_gemm(groups, {{rows, model_.gated_feed_forward ? 2.0 * inner : inner, hidden}, local});
  add_gemm(groups, {{rows, hidden, inner}, local});
  const double waiting = std::max(0.0, experts.imbalance - 1.0);
  const auto add = [&](StepLosses& pass, const StepLosses& extra) {
    for (std::size_t i = 0; i < pass.size(); ++i) {
      pass[i] += extra[i];
      pass[at(StepLoss::kExpert)] += waiting * extra[i];
    }
  };
  add(passes.forward, groups.forward);
  add(passes.input, groups.input);
  add(passes.weight, groups.weight);

  // Activations of the experts, and the tokens' way to them and back through memory.
  const Seconds moved = from_si<Bytes>(expert_activation_bytes(model_, rates_) * routed * etp * inner) / rates_.memory;
  passes.forward[at(StepLoss::kElementwise)] += moved;
  passes.input[at(StepLoss::kElementwise)] += 2.0 * moved;
  const Seconds permuted = from_si<Bytes>(rates_.token_bytes * routed * hidden) / rates_.memory;
  passes.forward[at(StepLoss::kExpert)] += permuted;
  passes.input[at(StepLoss::kExpert)] += permuted;

  const double nodes = real(shapes_.expert.nodes());
  const double bytes = kActivationBytes * routed * hidden * (nodes > 1.0 ? distinct_nodes_share(top, nodes) : 1.0);
  const double exposed = layout_.overlap_expert ? 1.0 - rates_.overlap : 1.0;
  Seconds exchange = 2.0 * exposed * experts.imbalance * collective(CollectiveOp::kAllToAll, bytes, shapes_.expert);
  if (layout_.expert_tensor > 1) {
    GroupShape slices = shapes_.tensor;
    slices.count[0] = layout_.expert_tensor;
    slices.per_node = std::min<std::int64_t>(slices.per_node, slices.count[0]);
    const double gathered = kActivationBytes * routed * hidden * etp;
    exchange += collective(CollectiveOp::kAllGather, gathered, slices) +
                collective(CollectiveOp::kReduceScatter, gathered, slices);
  }
  passes.forward[at(StepLoss::kExpert)] += exchange;
  passes.input[at(StepLoss::kExpert)] += exchange;
  passes.forward_stopped += exchange;
  passes.input_stopped += exchange;

  const double shared = real(experts.shared_experts) * real(experts.expert_feed_forward);
  if (shared > 0.0) {
    add_feed_forward(passes, shared);
  }
  add_elementwise(passes, shared);
  const double blocks = shared > 0.0 ? 2.0 : 1.0;
  add_tensor(passes, {blocks, blocks});
}

}  // namespace trainyard::simulator
