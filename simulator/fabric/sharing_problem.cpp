#include "simulator/fabric/sharing_problem.h"

#include <algorithm>
#include <utility>

#include "core/error.h"
#include "simulator/fabric/colour_refinement.h"
#include "simulator/fabric/commodities.h"
#include "simulator/fabric/lanes_of_use.h"

namespace trainyard::simulator {

namespace {

// A bundle that every flow spreads over all cables of needs one row, not one a cable.
std::vector<bool> split_arcs(const FlowSet& flows, std::size_t arcs) {
  std::vector<bool> split(arcs, false);
  for (std::size_t l = 0; l < flows.legs(); ++l) {
    for (const ArcUse& use : flows.uses(LegId(static_cast<std::int64_t>(l)))) {
      if (use.cable >= 0) {
        split[use.arc.at()] = true;
      }
    }
  }
  return split;
}

// Rows in the order of first use; fills row_of and capacity.
LegLoads number_rows(const Lanes& lanes, const FlowSet& flows, SharingProblem& problem) {
  const std::vector<bool> split = split_arcs(flows, lanes.size() == 0 ? 0 : lanes.arc(lanes.size() - 1).at() + 1);
  problem.row_of.assign(lanes.size(), SharingProblem::kNone);
  LegLoads legs;
  legs.first.reserve(flows.legs() + 1);
  legs.loads.reserve(flows.arc_uses());
  const auto row_of = [&](std::size_t lane, std::size_t count, double capacity) {
    if (problem.row_of[lane] == SharingProblem::kNone) {
      std::fill_n(problem.row_of.begin() + static_cast<std::ptrdiff_t>(lane), count,
                  static_cast<std::uint32_t>(problem.capacity.size()));
      problem.capacity.push_back(capacity);
    }
    return problem.row_of[lane];
  };
  for (std::size_t l = 0; l < flows.legs(); ++l) {
    for (const ArcUse& use : flows.uses(LegId(static_cast<std::int64_t>(l)))) {
      const std::size_t first = lanes.first(use.arc);
      if (!split[use.arc.at()]) {
        const std::size_t count = lanes.count(use.arc);
        legs.loads.push_back({row_of(first, count, lanes.capacity(first) * static_cast<double>(count)), use.weight});
        continue;
      }
      for_each_lane(lanes, use, [&](std::size_t lane, double weight) {
        legs.loads.push_back({row_of(lane, 1, lanes.capacity(lane)), weight});
      });
    }
    legs.first.push_back(static_cast<std::uint32_t>(legs.loads.size()));
  }
  return legs;
}

LoadTable transposed(const LoadTable& table, std::size_t columns) {
  LoadTable turned;
  turned.first.assign(columns + 1, 0);
  for (const Load& load : table.loads) {
    ++turned.first[load.at + 1];
  }
  for (std::size_t c = 1; c <= columns; ++c) {
    turned.first[c] += turned.first[c - 1];
  }
  std::vector<std::uint32_t> next(turned.first.begin(), turned.first.end() - 1);
  turned.loads.resize(table.loads.size());
  for (std::size_t r = 0; r < table.size(); ++r) {
    for (const Load& load : table[r]) {
      turned.loads[next[load.at]++] = {static_cast<std::uint32_t>(r), load.load};
    }
  }
  return turned;
}

LoadTable commodities_by_leg(const Commodities& commodities, std::size_t legs) {
  LoadTable by_commodity;
  by_commodity.first = commodities.first;
  by_commodity.loads.reserve(commodities.legs.size());
  for (const LegUse& leg : commodities.legs) {
    by_commodity.loads.push_back({static_cast<std::uint32_t>(leg.leg.value()), leg.share});
  }
  return transposed(by_commodity, legs);
}

// Legs over the rows that represent a class, by class.
LoadTable legs_by_row_class(const LegLoads& legs, const Classes& rows) {
  LoadTable by_leg;
  for (std::size_t l = 0; l < legs.size(); ++l) {
    for (const Load& use : legs[l]) {
      const std::uint32_t of = rows.of[use.at];
      if (rows.representative[of] == use.at) {
        by_leg.loads.push_back({of, use.load});
      }
    }
    by_leg.first.push_back(static_cast<std::uint32_t>(by_leg.loads.size()));
  }
  return transposed(by_leg, rows.representative.size());
}

// load(row, column) = sum over the column's commodities and their legs of share * load of the leg on the row.
LoadTable loads_by_row(const LoadTable& legs_by_row, const LoadTable& commodities_of_leg, const Classes& columns) {
  LoadTable by_row;
  by_row.first.reserve(legs_by_row.size() + 1);
  std::vector<double> sum(columns.representative.size(), 0.0);
  for (std::size_t r = 0; r < legs_by_row.size(); ++r) {
    const std::size_t begin = by_row.loads.size();
    for (const Load& leg : legs_by_row[r]) {
      for (const Load& commodity : commodities_of_leg[leg.at]) {
        const std::uint32_t column = columns.of[commodity.at];
        if (commodity.load * leg.load == 0.0) {
          continue;
        }
        if (sum[column] == 0.0) {
          by_row.loads.push_back({column, 0.0});
        }
        sum[column] += commodity.load * leg.load;
      }
    }
    for (std::size_t i = begin; i < by_row.loads.size(); ++i) {
      by_row.loads[i].load = std::exchange(sum[by_row.loads[i].at], 0.0);
    }
    by_row.first.push_back(static_cast<std::uint32_t>(by_row.loads.size()));
  }
  return by_row;
}

}  // namespace

SharingProblem sharing_problem(const Lanes& lanes, const FlowSet& flows, const SharingOptions& options) {
  SharingProblem problem;
  Commodities commodities = commodities_of(flows);
  const LegLoads legs = number_rows(lanes, flows, problem);
  const Colouring colouring =
      options.reduce ? refine_colours(commodities, legs, problem.capacity, options.by_bytes)
                     : Colouring{all_different(commodities.size()), all_different(problem.capacity.size())};
  const Classes& columns = colouring.commodities;
  const Classes& rows = colouring.rows;

  problem.by_row = loads_by_row(legs_by_row_class(legs, rows), commodities_by_leg(commodities, flows.legs()), columns);
  problem.by_column = transposed(problem.by_row, columns.representative.size());
  for (const std::uint32_t commodity : columns.representative) {
    problem.weight.push_back(commodities.weight[commodity]);
    problem.rate_cap.push_back(commodities.rate_cap[commodity]);
    problem.bytes.push_back(commodities.bytes[commodity]);
  }
  std::vector<double> capacity;
  capacity.reserve(rows.representative.size());
  for (const std::uint32_t row : rows.representative) {
    capacity.push_back(problem.capacity[row]);
  }
  problem.capacity = std::move(capacity);
  for (std::uint32_t& row : problem.row_of) {
    row = row == SharingProblem::kNone ? row : rows.of[row];
  }
  problem.column_of.reserve(commodities.of_flow.size());
  for (const std::uint32_t commodity : commodities.of_flow) {
    problem.column_of.push_back(columns.of[commodity]);
  }
  problem.commodity_of = std::move(commodities.of_flow);
  problem.part = std::move(commodities.part);
  return problem;
}

}  // namespace trainyard::simulator
