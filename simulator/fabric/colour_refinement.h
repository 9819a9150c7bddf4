// Colour refinement of commodities, legs and rows: which can't be told apart. See sharing_problem.h.
#pragma once

#include <cstdint>
#include <vector>

#include "simulator/fabric/commodities.h"
#include "simulator/fabric/sharing_problem.h"

namespace trainyard::simulator {

// Rows that a leg crosses, with bytes across each per byte of the leg.
using LegLoads = LoadTable;

struct Classes {
  std::vector<std::uint32_t> of;              // by commodity or row: its class, numbered by first appearance
  std::vector<std::uint32_t> representative;  // by class: its first member
};

struct Colouring {
  Classes commodities;
  Classes rows;
};

// Every one a class of its own.
Classes all_different(std::size_t n);

Colouring refine_colours(const Commodities& commodities, const LegLoads& legs, const std::vector<double>& capacity,
                         bool by_bytes);

}  // namespace trainyard::simulator
