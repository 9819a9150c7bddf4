// Faults made on purpose, to see that a run recovers from them.
//
//   kill@MEAN[,COUNT]      SIGKILL to a random rank at exponential times with this mean ("20s"), COUNT times at most
//   hang@STEP              a random rank stops working at the beginning of this step, its process alive
//   bitflip:TENSOR@STEP    one random bit of the tensor, on one of the ranks that hold it, before this step
//
// Steps count from 0; TENSOR is a parameter's name, or that and "/momentum" or "/variance". A hang or flip happens
// once, not again when a restart redoes its step. Random choices are functions of the seed.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/program/program.h"
#include "core/units/quantity.h"

namespace trainyard::executor {

struct RandomKills {
  Seconds mean;
  std::optional<std::int64_t> count;
};

struct BitFlip {
  std::string tensor;
  std::int64_t step = 0;
};

struct InjectedFaults {
  std::optional<RandomKills> kills;
  std::optional<std::int64_t> hang_step;
  std::vector<BitFlip> bit_flips;
  std::uint64_t seed = 0;
};

// Adds what `text` asks for. Throws Error that says what can be asked.
void add_fault(InjectedFaults& faults, const std::string& text);

// "NAME@STEP;NAME@STEP", and back.
std::string to_text(const std::vector<BitFlip>& flips);
std::vector<BitFlip> parse_bit_flips(const std::string& text);

// Without those that have happened once step `begun` has begun.
InjectedFaults still_to_come(InjectedFaults faults, std::int64_t begun);

// Throws Error for a fault in a step that a run of so many doesn't have.
void check_steps(const InjectedFaults& faults, std::int64_t steps);

// Throws Error for a tensor that no rank holds.
void check_faults(const InjectedFaults& faults, const Program& program);

// Where a fault strikes.
Rank hanging_rank(const InjectedFaults& faults, std::int64_t ranks);
struct FlippedBit {
  Rank rank;
  std::int64_t element = 0;  // of the rank's slice of the tensor
  int bit = 0;               // of an fp32 number, 31: the sign
};
FlippedBit flipped_bit(const InjectedFaults& faults, const BitFlip& flip, const Program& program);

}  // namespace trainyard::executor
