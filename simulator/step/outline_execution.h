// OutlineExecution: how long a step's outline takes, in time linear in its instructions.
//
// The rules are those of execution.h, on profiles without overhead of instructions and streams: a stream runs its
// instructions in order, each when what it waits for has ended; a transfer or a collective of several roles begins when
// all sides have come and ends when all have moved their part; compute and communication slow each other as the costs
// say. What it takes less: of each stream only the instruction at hand has a state.
#pragma once

#include <array>
#include <cstdint>
#include <queue>
#include <string>
#include <vector>

#include "core/program/outline.h"
#include "simulator/step/step_costs.h"

namespace trainyard::simulator {

class OutlineExecution {
 public:
  // Both must outlive it.
  OutlineExecution(const ProgramOutline& outline, const OutlineCosts& costs);
  // The step's duration.
  Nanoseconds run();

 private:
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};

  // What an example takes of this role, side by side.
  struct Cost {
    Nanoseconds work = 0;
    std::int16_t group = -1;  // of a communication
    std::uint8_t stream = 0;
    bool slows = false;  // it and compute slow each other
  };
  // The instruction at the head of a stream, if any.
  struct Head {
    std::uint32_t instruction = kNone;  // of the role
    std::uint32_t waits_for = kNone;    // that must end first
    std::uint32_t generation = 0;
    bool active = false;  // works or moves
    Nanoseconds since = 0;
    double remaining = 0.0;  // ns at full rate
    double rate = 1.0;
  };
  struct RoleState {
    const RoleOutline* outline = nullptr;
    std::vector<Cost> costs;
    std::vector<std::uint32_t> next;     // on the same stream
    std::vector<std::uint32_t> meeting;  // by instruction, of those that meet other roles
    std::vector<bool> ended;
    std::array<Head, kStreams> heads;
    std::uint32_t slowing = 0;  // communications under way that slow compute, by bit of their stream
    std::size_t done = 0;
  };
  struct Side {
    std::uint32_t role = 0;
    std::uint32_t instruction = 0;
  };
  struct Meeting {
    std::vector<Side> sides;
    std::size_t unposted = 0;
    std::size_t unmoved = 0;
  };
  struct Event {
    Nanoseconds time;
    std::uint64_t sequence;  // of creation: orders equal times
    std::uint32_t role;
    std::uint32_t generation;
    std::uint8_t stream;
    bool operator>(const Event& other) const {
      return time != other.time ? time > other.time : sequence > other.sequence;
    }
  };

  void prepare(const RoleOutline& outline, const std::vector<Nanoseconds>& work);
  void meet_transfers();
  void meet_collectives();
  void join(std::uint32_t meeting, Side side);

  const Cost& cost_of(const RoleState& role, std::uint32_t instruction) const {
    return role.costs[role.outline->instructions[instruction].example];
  }
  void try_head(std::uint32_t r, std::size_t stream, Nanoseconds now);
  void begin(std::uint32_t r, std::uint32_t instruction, Nanoseconds now);
  void start(std::uint32_t r, std::size_t stream, Nanoseconds now);
  void finish(std::uint32_t r, std::size_t stream, Nanoseconds now);
  void end(std::uint32_t r, std::uint32_t instruction, Nanoseconds now);
  void update_rates(std::uint32_t r, Nanoseconds now);
  void set_rate(std::uint32_t r, std::size_t stream, double rate, Nanoseconds now);
  std::string waiting() const;

  const ProgramOutline& outline_;
  const OutlineCosts& costs_;
  std::vector<RoleState> roles_;
  std::vector<Meeting> meetings_;
  std::uint64_t sequence_ = 0;
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
  Nanoseconds last_ = 0;
};

}  // namespace trainyard::simulator
