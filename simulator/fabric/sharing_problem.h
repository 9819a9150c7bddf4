// SharingProblem: flows and lanes as a sparse matrix, equal ones once.
//
//   maximise rates max-min fairly subject to  sum over columns of load(row, column) * rate(column) <= capacity(row)
//
// A column is a set of commodities that can't be told apart, a row a set of lanes likewise; a commodity is a flow, or
// the flows of a coupled group. Equal ones are found by colour refinement: start from capacities, weights, caps and
// bytes; recolour each by the multiset of its neighbours' colours until nothing splits. Max-min rates are unique and
// progressive filling treats such equals alike, so solving one of each solves all exactly (Grohe, Kersting,
// Mladenov, Selman 2014, "Dimension reduction via colour refinement"). Colours are 64-bit hashes: two different
// ones among 10^6 meet with a probability of 3e-8. Where hashing has left few equals (after two rounds more than half
// of the commodities differ) every commodity and lane keeps a place of its own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "simulator/fabric/flow.h"
#include "simulator/fabric/lanes.h"

namespace trainyard::simulator {

struct Load {
  std::uint32_t at = 0;  // row or column
  double load = 0.0;     // bytes across one lane of the row per byte of one commodity of the column
};

struct LoadTable {
  std::vector<std::uint32_t> first = {0};
  std::vector<Load> loads;
  std::span<const Load> operator[](std::size_t i) const {
    return {loads.data() + first[i], loads.data() + first[i + 1]};
  }
  std::size_t size() const { return first.size() - 1; }
};

struct SharingProblem {
  static constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();

  // By column, of one commodity of it.
  std::vector<double> weight;
  std::vector<double> rate_cap;  // infinite without one
  std::vector<double> bytes;     // of the group's largest flow
  std::vector<double> capacity;  // by row: of one lane
  LoadTable by_row;
  LoadTable by_column;
  // From flows and lanes.
  std::vector<std::uint32_t> commodity_of;  // by flow
  std::vector<std::uint32_t> column_of;     // by flow
  std::vector<double> part;                 // by flow: its rate over its column's; 1 but in groups of unequal flows
  std::vector<std::uint32_t> row_of;        // by lane; kNone where no flow passes

  std::size_t columns() const { return weight.size(); }
  std::size_t rows() const { return capacity.size(); }
};

struct SharingOptions {
  bool by_bytes = true;  // commodities of different size differ: their rates will once the first has ended
  bool reduce = true;    // false: no symmetric reduction, to test it against
};

SharingProblem sharing_problem(const Lanes& lanes, const FlowSet& flows, const SharingOptions& options = {});

}  // namespace trainyard::simulator
