#include "executor/run/injected_faults.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "core/document/nearest_name.h"
#include "core/error.h"
#include "core/random/philox.h"
#include "core/units/parse_quantity.h"
#include "executor/worker/state_slice.h"

namespace trainyard::executor {

namespace {

constexpr const char* kWhere = "--inject";
constexpr const char* kHint = "give kill@MEAN (kill@20s; kill@20s,50 for 50 of them), hang@STEP or bitflip:TENSOR@STEP";
constexpr std::uint64_t kHangs = 3;  // streams of random numbers; kill_clock.cpp has 1 and 2
constexpr std::uint64_t kFlips = 4;

std::int64_t whole_number(const std::string& text, std::int64_t lowest) {
  std::int64_t value = 0;
  const char* end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data(), end, value);
  if (parsed.ec != std::errc() || parsed.ptr != end || value < lowest) {
    throw Error("'" + text + "' is not a whole number of " + std::to_string(lowest) + " or more", kWhere, kHint);
  }
  return value;
}

// "kill@20s,50" after the '@'.
RandomKills parse_kills(const std::string& text) {
  RandomKills kills;
  const std::size_t comma = text.find(',');
  kills.mean = parse_quantity<Seconds>(text.substr(0, comma), kWhere);
  if (!(kills.mean.si() > 0)) {
    throw Error("the mean time between kills is not above 0", kWhere, kHint);
  }
  if (comma != std::string::npos) {
    kills.count = whole_number(text.substr(comma + 1), 1);
  }
  return kills;
}

BitFlip parse_flip(const std::string& text) {
  const std::size_t at = text.rfind('@');
  if (at == std::string::npos || at == 0) {
    throw Error("'" + text + "' names no tensor and step", kWhere, kHint);
  }
  return {text.substr(0, at), whole_number(text.substr(at + 1), 0)};
}

std::optional<StateSlice> held(const Program& program, Rank rank, const std::string& tensor) {
  for (const StateSlice& slice : state_slices(program, rank)) {
    // A bf16 parameter is written anew from its master in every step: a lasting flip is the master's.
    if (slice.name() == tensor && program.role_of(rank).buffers[slice.buffer.at()].type == DataType::kFp32) {
      return slice;
    }
  }
  return std::nullopt;
}

std::vector<Rank> holders(const Program& program, const std::string& tensor) {
  std::vector<Rank> ranks;
  for (std::int64_t rank = 0; rank < program.mesh.ranks(); ++rank) {
    if (held(program, Rank(rank), tensor)) {
      ranks.emplace_back(rank);
    }
  }
  return ranks;
}

std::string hint_for(const std::string& tensor, const Program& program) {
  std::vector<std::string> names;
  for (std::int64_t rank = 0; rank < program.mesh.ranks(); ++rank) {
    for (const StateSlice& slice : state_slices(program, Rank(rank))) {
      names.push_back(slice.name());
    }
  }
  const std::optional<std::string> nearest = nearest_name(tensor, names);
  return nearest ? "did you mean '" + *nearest + "'?" : "one of its tensors is '" + names.front() + "'";
}

}  // namespace

void add_fault(InjectedFaults& faults, const std::string& text) {
  if (text.starts_with("kill@")) {
    faults.kills = parse_kills(text.substr(5));
  } else if (text.starts_with("hang@")) {
    faults.hang_step = whole_number(text.substr(5), 0);
  } else if (text.starts_with("bitflip:")) {
    faults.bit_flips.push_back(parse_flip(text.substr(8)));
  } else {
    throw Error("'" + text + "' is not a fault", kWhere, kHint);
  }
}

std::string to_text(const std::vector<BitFlip>& flips) {
  std::string text;
  for (const BitFlip& flip : flips) {
    text += (text.empty() ? "" : ";") + flip.tensor + "@" + std::to_string(flip.step);
  }
  return text;
}

std::vector<BitFlip> parse_bit_flips(const std::string& text) {
  std::vector<BitFlip> flips;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(';', begin), text.size());
    flips.push_back(parse_flip(text.substr(begin, end - begin)));
    begin = end + 1;
  }
  return flips;
}

InjectedFaults still_to_come(InjectedFaults faults, std::int64_t begun) {
  if (faults.hang_step && *faults.hang_step <= begun) {
    faults.hang_step.reset();
  }
  std::erase_if(faults.bit_flips, [&](const BitFlip& flip) { return flip.step <= begun; });
  return faults;
}

void check_steps(const InjectedFaults& faults, std::int64_t steps) {
  const auto require = [&](std::int64_t step) {
    if (step >= steps) {
      throw Error(
          "step " + std::to_string(step) + " isn't reached: the run's steps are 0 to " + std::to_string(steps - 1),
          kWhere, "an earlier step, or a longer run");
    }
  };
  if (faults.hang_step) {
    require(*faults.hang_step);
  }
  for (const BitFlip& flip : faults.bit_flips) {
    require(flip.step);
  }
}

void check_faults(const InjectedFaults& faults, const Program& program) {
  for (const BitFlip& flip : faults.bit_flips) {
    if (holders(program, flip.tensor).empty()) {
      throw Error("no rank holds a tensor '" + flip.tensor + "'", kWhere, hint_for(flip.tensor, program));
    }
  }
}

Rank hanging_rank(const InjectedFaults& faults, std::int64_t ranks) {
  return Rank(static_cast<std::int64_t>(random_uniform(faults.seed, kHangs, 0) * static_cast<double>(ranks)));
}

FlippedBit flipped_bit(const InjectedFaults& faults, const BitFlip& flip, const Program& program) {
  const std::vector<Rank> ranks = holders(program, flip.tensor);
  check(!ranks.empty(), "a flipped tensor is held by a rank");
  const std::uint64_t first = static_cast<std::uint64_t>(flip.step) * 3;
  const auto draw = [&](std::uint64_t which, std::int64_t below) {
    return static_cast<std::int64_t>(random_uniform(faults.seed, kFlips, first + which) * static_cast<double>(below));
  };
  FlippedBit bit;
  bit.rank = ranks[static_cast<std::size_t>(draw(0, static_cast<std::int64_t>(ranks.size())))];
  bit.element = draw(1, held(program, bit.rank, flip.tensor)->held.size());
  bit.bit = static_cast<int>(draw(2, 32));
  return bit;
}

}  // namespace trainyard::executor
