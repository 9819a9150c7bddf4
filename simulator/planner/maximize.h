// The largest batch, network or context that fits a machine, over every layout.
//
//   batch       sequences a step without accumulating: micro-batch x dp x pp, each stage filled once. (More sequences
//               accumulate gradients over further passes, at no more memory.)
//   parameters  the network grown in width and depth at once: hidden in steps of key-value heads x head size, layers
//               and feed-forward in proportion; heads, experts and vocabulary keep their sizes and numbers otherwise
//   context     tokens of a sequence, in steps of 1,024 (of 8,192 from there on); the batch's sequences stay
//
// Found by doubling and bisection on what fits; the next step is shown to fit under no layout.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "simulator/planner/layout_search.h"
#include "simulator/planner/search_machine.h"

namespace trainyard::simulator {

enum class Maximized : std::uint8_t { kBatch, kParameters, kContext };
std::string_view to_string(Maximized what);  // "batch", "parameters", "context"

struct Maximum {
  std::int64_t value = 0;  // sequences, parameters, tokens
  Workload workload;       // with it
  RankedLayout best;       // the fastest that fits
  double tokens_per_second = 0.0;
  std::int64_t next = 0;  // one step more
  Layout next_layout;     // that lacks least then
  std::optional<Infeasible> next_lacks;
};

// Nothing where not even the smallest step fits, or when stopped.
std::optional<Maximum> maximize(const SearchRequest& request, Maximized what, const MachinePricers& pricers,
                                const std::stop_token& stop = {});

// The network grown or shrunk to this width: a multiple of key-value heads x head size.
ModelSpec scaled_model(const ModelSpec& model, std::int64_t hidden);

// Tokens/s by batch (as for kBatch), the best without recomputation and the best with it.
struct RecomputePoint {
  std::int64_t batch = 0;
  std::optional<RankedLayout> without;
  std::optional<RankedLayout> with;
  double tokens_without = 0.0;  // a second
  double tokens_with = 0.0;
};
struct RecomputeCurve {
  std::vector<RecomputePoint> points;  // ranks x powers of two, up to the largest
  double best_without = 0.0;           // tokens/s, at any of the batches
  // The largest batch at which recomputing is faster than the best without it: beyond, a bigger batch for the price of
  // recomputation doesn't pay. Nothing where it never pays.
  std::optional<std::int64_t> pays_up_to;
};
RecomputeCurve recompute_curve(const SearchRequest& request, std::int64_t largest_batch, const MachinePricers& pricers,
                               const std::stop_token& stop = {});

}  // namespace trainyard::simulator
