// OutlineExecution: how long a step's outline takes, in time linear in its instructions.
//
// The rules are those of execution.h, on profiles without overhead of instructions and streams: a stream runs its
// instructions in order, each when what it waits for has ended; a transfer or a collective of several roles begins when
// all sides have come and ends when all have moved their part; compute and communication of one role slow each other as
// the costs say. Durations are equal to the nanosecond.
//
// Roles meet only in transfers and in collectives that join stages, which slow nothing. So each role runs on its own
// clock, ahead of the others as far as nothing can reach it from there: a transfer that it has posted ends no earlier
// than its other side can come,
//
//   other side comes >= the clock of the role furthest behind, or the end of the compute before it at full rate
//
// and the role that is furthest behind may always go on (conservative parallel simulation: Chandy and Misra 1979). One
// role's instructions lie in the cache while it runs, and there are no events but the heads of its eight streams.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <limits>
#include <queue>
#include <string>
#include <utility>
#include <vector>

#include "core/program/outline.h"
#include "simulator/step/execution.h"
#include "simulator/step/step_costs.h"

namespace trainyard::simulator {

// By role, by instruction.
using OutlineTimes = std::vector<std::vector<InstructionTimes>>;

class OutlineExecution {
 public:
  // Must outlive it.
  explicit OutlineExecution(const ProgramOutline& outline);
  // The step's duration under these costs; when each instruction ran, where asked for. Transfers and collectives that
  // join stages must not slow compute, nor be slowed.
  Nanoseconds run(const OutlineCosts& costs, OutlineTimes* times = nullptr);

 private:
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};
  static constexpr Nanoseconds kNever = std::numeric_limits<Nanoseconds>::max();
  template <class T>
  using ByStream = std::array<T, kStreams>;

  // What an example takes of this role, side by side.
  struct Cost {
    Nanoseconds work = 0;
    std::int16_t group = -1;  // of a communication
    std::uint8_t stream = 0;
    bool slows = false;  // it and compute slow each other
    bool joins = false;  // a collective of several roles
    bool meets = false;  // that, or a transfer
    bool on_host = false;
  };
  struct Due {
    std::uint32_t generation = 0;
    std::uint8_t stream = 0;
    bool begins = false;  // or finishes
  };
  struct RoleState {
    const RoleOutline* outline = nullptr;
    std::vector<Cost> costs;             // by example
    std::vector<std::uint32_t> next;     // on the same stream
    std::vector<std::uint32_t> meeting;  // by instruction, of those that meet other roles
    std::array<std::uint32_t, kStreams> first{};
    std::vector<Nanoseconds> compute;  // by instruction of the compute stream: work up to its end
    // Of the run: what each stream is at.
    std::vector<bool> ended;
    ByStream<std::uint32_t> at{};
    ByStream<std::uint32_t> waits_for{};   // that must end first
    std::uint32_t waiting = 0;             // streams with one, by bit
    std::uint32_t busy = 0;                // streams that work or move data, by bit
    ByStream<Nanoseconds> finish{};        // of what those do; kNever
    ByStream<Nanoseconds> made{};          // when that was known
    ByStream<std::uint32_t> generation{};  // of that; also orders what was known at once
    ByStream<Nanoseconds> since{};
    ByStream<double> remaining{};  // ns at full rate
    ByStream<double> rate{};
    ByStream<std::uint32_t> posted{};              // meeting that waits for others
    std::array<std::uint8_t, kStreams> slowing{};  // streams with communication under way that slows compute
    std::uint8_t slowing_count = 0;                // ... the first so many, in the order in which they began
    std::uint32_t generations = 0;
    std::size_t done = 0;
    Nanoseconds clock = 0;  // nothing of the role happens before
    InstructionTimes* times = nullptr;
  };
  struct Side {
    std::uint32_t role = 0;
    std::uint32_t instruction = 0;
    std::uint32_t computed = kNone;  // instruction of the compute stream that it waits for
    Nanoseconds came = kNever;
  };
  struct Meeting {
    std::vector<Side> sides;
    std::size_t unposted = 0;
  };

  void prepare(RoleState& role, std::vector<std::uint32_t>& joining) const;
  void meet_transfers();
  void meet_collectives(const std::vector<std::vector<std::uint32_t>>& joining);
  std::size_t first_role(const Group& group, std::uint32_t r) const;
  void join(std::uint32_t meeting, Side side);
  void reset(const OutlineCosts& costs, OutlineTimes* times);
  void set_costs(RoleState& role, const std::vector<Nanoseconds>& work) const;

  const Cost& cost_of(const RoleState& role, std::uint32_t instruction) const {
    return role.costs[role.outline->instructions[instruction].example];
  }
  static Nanoseconds next_event(const RoleState& role);
  void advance(std::uint32_t r);
  void set_clock(std::uint32_t r, Nanoseconds clock);
  // No earlier than this can what the role has posted end.
  Nanoseconds reach_of(const RoleState& role) const;
  Nanoseconds earliest_end(const Meeting& meeting) const;
  Nanoseconds earliest_post(const Side& side) const;
  void happen(std::uint32_t r);
  std::size_t first_finished(const RoleState& role) const;
  bool is_ready(RoleState& role, std::size_t stream) const;
  void release(RoleState& role, std::uint32_t streams);
  void begin(std::uint32_t r, std::size_t stream);
  void post(std::uint32_t r, std::size_t stream, std::uint32_t meeting);
  void start(RoleState& role, std::size_t stream);
  void finish(RoleState& role, std::size_t stream);
  void set_finish(RoleState& role, std::size_t stream, Nanoseconds at);
  void update_rates(RoleState& role);
  void set_rate(RoleState& role, std::size_t stream, double rate);
  std::string waiting() const;

  const ProgramOutline& outline_;
  const OutlineCosts* costs_ = nullptr;
  std::vector<RoleState> roles_;
  std::vector<Meeting> meetings_;
  using Turn = std::pair<Nanoseconds, std::uint32_t>;  // clock and role
  std::priority_queue<Turn, std::vector<Turn>, std::greater<>> turns_;
  // Of the role at work.
  Nanoseconds now_ = 0;
  Nanoseconds reach_ = 0;
  std::vector<Due> due_;    // at now_, after what was known before
  Nanoseconds behind_ = 0;  // clock of the role furthest behind
};

}  // namespace trainyard::simulator
