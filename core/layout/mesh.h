// Mesh: rank <-> coordinates <-> groups, for two factorisations of the same ranks.
//
// With the order "tp-cp-ep-dp-pp" (Megatron-LM's default) the first name varies fastest:
//   rank = tp + TP * (cp + CP * (dp + DP * pp))                     dense (ep is skipped)
//   rank = etp + ETP * (ep + EP * (edp + EDP * pp))                 expert (tp means etp, cp is skipped)
// where EDP = TP * CP * DP / (ETP * EP). Any permutation of the five names is an order. Both factorisations
// must put a rank on the same stage, which is checked when ep or etp > 1; pp last or first always does.
//
// Source: Megatron-LM, megatron/core/parallel_state.py, RankGenerator.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/layout/layout.h"
#include "core/units/index.h"

namespace trainyard {

enum class Axis : std::uint8_t { kTensor, kContext, kData, kPipeline, kExpert, kExpertTensor, kExpertData };
std::string_view to_string(Axis axis);  // "tp", "cp", "dp", "pp", "ep", "etp", "edp"

struct Coordinates {
  int tensor = 0;
  int context = 0;
  int data = 0;
  int pipeline = 0;
  int expert = 0;
  int expert_tensor = 0;
  int expert_data = 0;
  int along(Axis axis) const;
  friend bool operator==(const Coordinates&, const Coordinates&) = default;
};

class Mesh {
 public:
  Mesh();  // one rank
  // Throws Error for a degree below 1, an order that isn't a permutation of tp, cp, ep, dp, pp, expert degrees
  // that don't divide the ranks of a stage, or factorisations that disagree on stages.
  explicit Mesh(const Layout& layout);

  std::int64_t ranks() const { return ranks_; }
  int size(Axis axis) const;
  Coordinates coordinates(Rank rank) const;
  // Dense coordinates (tensor, context, data, pipeline) to rank; the expert ones are ignored.
  Rank rank_at(const Coordinates& coordinates) const;
  // Ranks that differ from `rank` along this axis only, in the order of that axis, rank included.
  std::vector<Rank> group(Axis axis, Rank rank) const;
  // Every group along this axis; they partition the ranks.
  std::vector<std::vector<Rank>> groups(Axis axis) const;

 private:
  struct Factor {
    Axis axis = Axis::kTensor;
    int size = 1;
    std::int64_t stride = 1;
  };
  const Factor& factor(Axis axis) const;
  void require_same_stages(const Layout& layout) const;
  std::int64_t ranks_ = 1;
  std::vector<Factor> dense_;
  std::vector<Factor> expert_;
};

}  // namespace trainyard
