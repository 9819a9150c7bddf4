#include "simulator/fabric/colour_refinement.h"

#include <bit>
#include <numeric>

#include "simulator/fabric/mix.h"

namespace trainyard::simulator {

namespace {

using Colours = std::vector<std::uint64_t>;

std::uint64_t bits(double value) { return std::bit_cast<std::uint64_t>(value); }

// Cheap on the way through a million entries: one multiplication for a colour that is well mixed already.
std::uint64_t weigh(std::uint64_t colour, double weight) {
  const std::uint64_t x = (colour ^ bits(weight)) * 0x9FB21C651E98DF25;
  return x ^ (x >> 32);
}

// Numbers distinct colours: open addressing. Grows with the colours, which are few where symmetry applies: then it
// stays in the fastest cache.
class ColourTable {
 public:
  ColourTable() : slots_(64) {}

  // The colour's number, counted from 0 by first appearance.
  std::uint32_t number(std::uint64_t colour) {
    Slot& slot = find(colour == 0 ? 1 : colour);
    if (slot.colour != 0) {
      return slot.number;
    }
    slot = {colour == 0 ? 1 : colour, distinct_++};
    if (2 * distinct_ > slots_.size()) {
      grow();
    }
    return distinct_ - 1;
  }
  std::uint32_t distinct() const { return distinct_; }

 private:
  struct Slot {
    std::uint64_t colour = 0;  // 0: free
    std::uint32_t number = 0;
  };
  Slot& find(std::uint64_t colour) {
    std::size_t at = colour & (slots_.size() - 1);
    while (slots_[at].colour != 0 && slots_[at].colour != colour) {
      at = (at + 1) & (slots_.size() - 1);
    }
    return slots_[at];
  }
  void grow() {
    std::vector<Slot> old(4 * slots_.size());
    old.swap(slots_);
    for (const Slot& slot : old) {
      if (slot.colour != 0) {
        find(slot.colour) = slot;
      }
    }
  }

  std::vector<Slot> slots_;
  std::uint32_t distinct_ = 0;
};

std::size_t distinct(const Colours& colours) {
  ColourTable table;
  for (const std::uint64_t colour : colours) {
    table.number(colour);
  }
  return table.distinct();
}

Classes classes_of(const Colours& colours) {
  Classes classes;
  classes.of.reserve(colours.size());
  ColourTable table;
  for (std::size_t i = 0; i < colours.size(); ++i) {
    classes.of.push_back(table.number(colours[i]));
    if (classes.representative.size() < table.distinct()) {
      classes.representative.push_back(static_cast<std::uint32_t>(i));
    }
  }
  return classes;
}

class Refinement {
 public:
  Refinement(const Commodities& commodities, const LegLoads& legs, const std::vector<double>& capacity, bool by_bytes)
      : commodities_(commodities), legs_(legs), leg_colour_(legs.size(), 1), leg_sum_(legs.size()) {
    for (const double c : capacity) {
      row_colour_.push_back(mix(bits(c)));
    }
    for (std::size_t i = 0; i < commodities.size(); ++i) {
      const std::uint64_t own = mix(bits(commodities.weight[i]), bits(commodities.rate_cap[i]));
      commodity_colour_.push_back(by_bytes ? mix(own, bits(commodities.bytes[i])) : own);
    }
    row_sum_.resize(capacity.size());
  }

  void round() {
    // Legs take the colours around them, then rows and commodities those of their legs.
    std::fill(leg_sum_.begin(), leg_sum_.end(), 0);
    for (std::size_t i = 0; i < commodities_.size(); ++i) {
      for (const LegUse& leg : commodities_.legs_of(i)) {
        leg_sum_[leg.leg.at()] += weigh(commodity_colour_[i], leg.share);
      }
    }
    for (std::size_t l = 0; l < legs_.size(); ++l) {
      std::uint64_t rows = 0;
      for (const Load& use : legs_[l]) {
        rows += weigh(row_colour_[use.at], use.load);
      }
      leg_colour_[l] = mix(leg_colour_[l] + 3 * leg_sum_[l], rows);
    }
    std::fill(row_sum_.begin(), row_sum_.end(), 0);
    for (std::size_t l = 0; l < legs_.size(); ++l) {
      for (const Load& use : legs_[l]) {
        row_sum_[use.at] += weigh(leg_colour_[l], use.load);
      }
    }
    for (std::size_t r = 0; r < row_colour_.size(); ++r) {
      row_colour_[r] = mix(row_colour_[r] ^ row_sum_[r]);
    }
    for (std::size_t i = 0; i < commodities_.size(); ++i) {
      std::uint64_t sum = commodity_colour_[i];
      for (const LegUse& leg : commodities_.legs_of(i)) {
        sum += weigh(leg_colour_[leg.leg.at()], leg.share);
      }
      commodity_colour_[i] = mix(sum);
    }
  }

  std::size_t commodity_colours() const { return distinct(commodity_colour_); }
  std::size_t leg_colours() const { return distinct(leg_colour_); }
  std::size_t row_colours() const { return distinct(row_colour_); }
  Colouring colouring() const { return {classes_of(commodity_colour_), classes_of(row_colour_)}; }

 private:
  const Commodities& commodities_;
  const LegLoads& legs_;
  Colours commodity_colour_;
  Colours leg_colour_;
  Colours row_colour_;
  Colours leg_sum_;
  Colours row_sum_;
};

}  // namespace

Classes all_different(std::size_t n) {
  Classes classes;
  classes.of.resize(n);
  std::iota(classes.of.begin(), classes.of.end(), 0U);
  classes.representative = classes.of;
  return classes;
}

Colouring refine_colours(const Commodities& commodities, const LegLoads& legs, const std::vector<double>& capacity,
                         bool by_bytes) {
  Refinement refinement(commodities, legs, capacity, by_bytes);
  if (refinement.commodity_colours() == commodities.size()) {  // no two alike by themselves: nothing to reduce
    return {all_different(commodities.size()), all_different(capacity.size())};
  }
  std::size_t before = 0;
  for (int round = 1;; ++round) {
    refinement.round();
    const std::size_t commodity_colours = refinement.commodity_colours();
    if (round == 2 && 2 * commodity_colours > commodities.size() && commodities.size() > 64) {
      return {all_different(commodities.size()), all_different(capacity.size())};
    }
    const std::size_t now = commodity_colours + refinement.leg_colours() + refinement.row_colours();
    if (now == before) {
      return refinement.colouring();
    }
    before = now;
  }
}

}  // namespace trainyard::simulator
