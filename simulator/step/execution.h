// Execution: when each instruction of a program began, moved data and ended, under given costs.
#pragma once

#include <array>
#include <cstdint>
#include <queue>
#include <string>
#include <vector>

#include "core/program/program.h"
#include "core/units/quantity.h"
#include "simulator/step/rendezvous.h"
#include "simulator/step/step_costs.h"

namespace trainyard::simulator {

struct InstructionTimes {
  Nanoseconds begin = 0;
  Nanoseconds moving = 0;  // communications: every member has come
  Nanoseconds end = 0;
};

class Execution {
 public:
  Execution(const Program& program, const StepCosts& costs);
  void run();

  const InstructionTable& table() const { return table_; }
  const std::vector<InstructionTimes>& times() const { return times_; }

 private:
  enum class EventKind : std::uint8_t { kBegin, kPost, kFinish };
  struct Event {
    Nanoseconds time;
    std::uint64_t sequence;  // of creation: orders equal times
    std::uint32_t instruction;
    std::uint32_t generation;
    EventKind kind;
    bool operator>(const Event& other) const {
      return time != other.time ? time > other.time : sequence > other.sequence;
    }
  };
  struct Dependent {
    std::uint32_t instruction;
    bool handover;
  };
  // Work under way: at `rate` since `since`.
  struct State {
    std::uint32_t pending = 0;   // stream predecessor and waits not yet ended
    std::uint32_t unposted = 0;  // members, itself included, that haven't come
    std::uint32_t unmoved = 0;   // members, itself included, that haven't moved their part
    std::uint32_t generation = 0;
    Nanoseconds ready = 0;
    Nanoseconds since = 0;
    double remaining = 0.0;  // ns at full rate
    double rate = 1.0;
  };
  // What a representative rank has under way.
  struct Activity {
    std::uint32_t computing = 0;
    std::vector<std::uint32_t> moving;
    std::uint32_t compute_instruction = 0;
  };

  void link_dependencies();
  void push(Nanoseconds time, std::uint32_t instruction, EventKind kind);
  void handle(const Event& event);
  void begin(std::uint32_t instruction, Nanoseconds now);
  void post(std::uint32_t instruction, Nanoseconds now);
  void start_work(std::uint32_t instruction, Nanoseconds now);
  void finish_work(std::uint32_t instruction, Nanoseconds now);
  void end(std::uint32_t instruction, Nanoseconds now);
  void release(std::uint32_t instruction, Nanoseconds ready);
  void update_rates(std::uint32_t role, Nanoseconds now);
  void set_rate(std::uint32_t instruction, double rate, Nanoseconds now);
  bool communicates(std::uint32_t instruction) const { return group_[instruction] >= 0; }
  // On the device's units, which communication shares: no copy to or from the host, nor the host's own update.
  bool computes(std::uint32_t instruction) const { return group_[instruction] == kOnUnits; }
  std::string waiting_instructions() const;

  const Program& program_;
  const StepCosts& costs_;
  InstructionTable table_;
  Rendezvous rendezvous_;
  bool slows_ = false;  // whether any overlap costs anything
  static constexpr std::int32_t kOnUnits = -1;
  static constexpr std::int32_t kBesideUnits = -2;
  std::vector<std::int32_t> group_;  // of the communication, or one of the above
  std::vector<Nanoseconds> work_;
  std::vector<State> states_;
  std::vector<std::uint32_t> dependent_offsets_;
  std::vector<Dependent> dependents_;
  std::vector<Activity> activities_;  // by role
  std::vector<InstructionTimes> times_;
  std::vector<bool> ended_;
  std::size_t done_ = 0;
  std::uint64_t sequence_ = 0;
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
};

}  // namespace trainyard::simulator
