// OutlineExecution: how long a step's outline takes, in time linear in its instructions.
//
// The rules are those of execution.h, on profiles without overhead of instructions and streams: a stream runs its
// instructions in order, each when what it waits for has ended; a transfer or a collective of several roles begins when
// all sides have come and ends when all have moved their part; compute and communication slow each other as the costs
// say. Events of equal times come in the order of that one, so that durations are equal to the nanosecond. What it
// takes less: of each stream only the instruction at hand has a state, and what happens at once takes a queue.
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
    bool joins = false;  // a collective of several roles
  };
  // The instruction at the head of a stream, if any.
  struct Head {
    std::uint32_t instruction = kNone;  // of the role
    std::uint32_t waits_for = kNone;    // that must end first
    std::uint32_t generation = 0;
    bool active = false;  // works, or moves data
    Nanoseconds since = 0;
    double remaining = 0.0;  // ns at full rate
    double rate = 1.0;
  };
  struct RoleState {
    const RoleOutline* outline = nullptr;
    std::vector<Cost> costs;
    std::vector<std::uint32_t> next;     // on the same stream
    std::vector<std::uint32_t> meeting;  // by instruction, of those that meet other roles
    std::vector<std::uint32_t> joining;  // collectives that join roles, from the last
    std::vector<bool> ended;
    std::array<Head, kStreams> heads;
    std::array<std::uint8_t, kStreams> slowing{};  // streams with communication under way that slows compute
    std::uint8_t slowing_count = 0;                // ... the first so many, in the order in which they began
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
  enum class EventKind : std::uint8_t { kBegin, kFinish };
  struct Event {
    Nanoseconds time;
    std::uint64_t sequence;  // of creation: orders equal times
    std::uint32_t role;
    std::uint32_t generation;
    std::uint8_t stream;
    EventKind kind;
    bool operator>(const Event& other) const {
      return time != other.time ? time > other.time : sequence > other.sequence;
    }
  };

  void prepare(const RoleOutline& outline, const std::vector<Nanoseconds>& work);
  void meet_transfers();
  void meet_collectives();
  std::size_t first_role(const Group& group, std::uint32_t r) const;
  void join(std::uint32_t meeting, Side side);

  const Cost& cost_of(const RoleState& role, std::uint32_t instruction) const {
    return role.costs[role.outline->instructions[instruction].example];
  }
  void push(Nanoseconds time, std::uint32_t r, std::size_t stream, EventKind kind);
  void handle(const Event& event);
  bool is_ready(RoleState& role, std::size_t stream);
  void release(std::uint32_t r, std::uint32_t streams, Nanoseconds now);
  void begin(std::uint32_t r, std::size_t stream, Nanoseconds now);
  void start(std::uint32_t r, std::size_t stream, Nanoseconds now);
  void finish(std::uint32_t r, std::size_t stream, Nanoseconds now);
  void end(std::uint32_t r, std::size_t stream, Nanoseconds now);
  void update_rates(std::uint32_t r, Nanoseconds now);
  void set_rate(std::uint32_t r, std::size_t stream, double rate, Nanoseconds now);
  std::string waiting() const;

  const ProgramOutline& outline_;
  const OutlineCosts& costs_;
  std::vector<RoleState> roles_;
  std::vector<Meeting> meetings_;
  std::uint64_t sequence_ = 0;
  std::priority_queue<Event, std::vector<Event>, std::greater<>> later_;
  std::vector<Event> due_;   // at now_, after those of later_
  std::size_t handled_ = 0;  // of due_
  Nanoseconds now_ = 0;
  Nanoseconds last_ = 0;
};

}  // namespace trainyard::simulator
