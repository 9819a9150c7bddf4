#include "core/plan/comparison.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string_view>
#include <utility>

#include "core/error.h"
#include "core/plan/trace_times.h"

namespace trainyard {
namespace {

constexpr std::string_view kWaiting = "waiting";

// Seconds by name; of one trace, mean over ranks.
struct Totals {
  std::map<std::string, double> terms;
  std::map<std::string, double> kinds;
  std::map<std::string, double> movement;
};

std::string term_name(const Program& program, const Instruction& instruction) {
  if (instruction.communication) {
    const Communication& communication = *instruction.communication;
    return fmt::format("{} {}", to_string(communication.kind),
                       to_string(program.groups[communication.group.at()].kind));
  }
  if (instruction.segment) {
    return fmt::format("{} {}", to_string(program.segments[instruction.segment->at()].kind),
                       to_string(instruction.kind));
  }
  return std::string(to_string(instruction.kind));
}

class Splitter {
 public:
  Splitter(const Program& program, const Meetings& meetings, const Trace& trace)
      : program_(program), meetings_(meetings), trace_(trace), times_(program, trace) {}

  Totals split() {
    for (std::int64_t r = 0; r < program_.mesh.ranks(); ++r) {
      split_rank(Rank(r));
    }
    return std::move(totals_);
  }

 private:
  void add(std::map<std::string, double>& table, const std::string& name, Nanoseconds time) const {
    table[name] += to_seconds(time).si() / static_cast<double>(program_.mesh.ranks());
  }

  void split_rank(Rank rank) {
    const Role& role = program_.role_of(rank);
    std::vector<Interval> compute;
    for (const Instruction& instruction : role.instructions) {
      const Interval slice = times_.at(rank, instruction.id);
      add(totals_.kinds, std::string(to_string(instruction.kind)), slice.end - slice.begin);
      if (!instruction.communication && instruction.stream == Stream::kCompute) {
        compute.push_back(slice);
        add(totals_.terms, term_name(program_, instruction), slice.end - slice.begin);
      }
    }
    compute = united(std::move(compute));
    Nanoseconds covered = total_length(compute);
    for (const auto& [begin, end, name] : movements(rank, role)) {
      const Interval moving{begin, end};
      add(totals_.movement, name, end - begin);
      const Nanoseconds exposed = uncovered(moving, compute);
      add(totals_.terms, name, exposed);
      covered += exposed;
      // What one communication covers, another doesn't expose again.
      compute.push_back(moving);
      compute = united(std::move(compute));
    }
    add(totals_.terms, std::string(kWaiting), trace_.duration - covered);
  }

  struct Movement {
    Nanoseconds begin;
    Nanoseconds end;
    std::string name;
  };

  // By begin: from the last member's arrival to this rank's end.
  std::vector<Movement> movements(Rank rank, const Role& role) const {
    std::vector<Movement> result;
    for (const Instruction& instruction : role.instructions) {
      if (!instruction.communication) {
        continue;
      }
      const Interval own = times_.at(rank, instruction.id);
      Nanoseconds begin = own.begin;
      for (const Rank member : meetings_.members(rank, instruction.id)) {
        begin = std::max(begin, times_.at(member, meetings_.of(rank, instruction.id, member)).begin);
      }
      // Clocks of unlike ranks may disagree by a little: never before its own begin or after its end.
      result.push_back({std::min(begin, own.end), own.end, term_name(program_, instruction)});
    }
    std::stable_sort(result.begin(), result.end(),
                     [](const Movement& a, const Movement& b) { return a.begin < b.begin; });
    return result;
  }

  const Program& program_;
  const Meetings& meetings_;
  const Trace& trace_;
  TraceTimes times_;
  Totals totals_;
};

void accumulate(std::map<std::string, double>& sum, const std::map<std::string, double>& part, double weight) {
  for (const auto& [name, value] : part) {
    sum[name] += value * weight;
  }
}

std::vector<ComparedTime> table(const std::map<std::string, double>& predicted,
                                const std::map<std::string, double>& measured) {
  std::map<std::string, ComparedTime> rows;
  for (const auto& [name, value] : predicted) {
    rows[name].predicted = from_si<Seconds>(value);
  }
  for (const auto& [name, value] : measured) {
    rows[name].measured = from_si<Seconds>(value);
  }
  std::vector<ComparedTime> result;
  for (auto& [name, row] : rows) {
    row.name = name;
    result.push_back(row);
  }
  return result;
}

void set_own_errors(StepComparison& comparison) {
  for (ComparedTime& term : comparison.terms) {
    const auto movement = std::find_if(comparison.movement.begin(), comparison.movement.end(),
                                       [&](const ComparedTime& row) { return row.name == term.name; });
    if (term.name == kWaiting) {
      term.own_error = Seconds();
    } else if (movement == comparison.movement.end()) {
      term.own_error = term.error();
    } else if (movement->measured > Seconds()) {
      term.own_error = movement->error() * (term.measured / movement->measured);
    }
  }
}

void rank_by_share(StepComparison& comparison) {
  double sum = 0.0;
  for (const ComparedTime& term : comparison.terms) {
    sum += std::abs(term.own_error.si());
  }
  for (ComparedTime& term : comparison.terms) {
    term.share = sum == 0.0 ? 0.0 : std::abs(term.own_error.si()) / sum;
  }
  std::stable_sort(comparison.terms.begin(), comparison.terms.end(), [](const ComparedTime& a, const ComparedTime& b) {
    return std::pair(a.name == kWaiting, -a.share) < std::pair(b.name == kWaiting, -b.share);
  });
  if (sum > 0.0) {
    comparison.largest = 0;
  }
}

void set_measured_step(StepComparison& comparison, std::span<const Trace> measured) {
  std::vector<Nanoseconds> durations;
  for (const Trace& trace : measured) {
    durations.push_back(trace.duration);
  }
  std::sort(durations.begin(), durations.end());
  const std::size_t n = durations.size();
  comparison.measured_step = (to_seconds(durations[(n - 1) / 2]) + to_seconds(durations[n / 2])) / 2.0;
  comparison.measured_low = to_seconds(durations.front());
  comparison.measured_high = to_seconds(durations.back());
}

void require_program(const Program& program, const Trace& trace) {
  if (trace.program_hash != program.hash) {
    throw Error(
        fmt::format("the trace of step {} is of program {}, not of {}", trace.step, trace.program_hash, program.hash),
        "/program_hash", "compare a run with the plan that it ran");
  }
}

std::vector<ComparedCount> by_kind(const Volumes& predicted, const Volumes& measured, bool bytes) {
  std::vector<ComparedCount> rows;
  for (std::size_t i = 0; i < kCommunicationKinds; ++i) {
    const std::int64_t plan = bytes ? predicted.sent[i].value() : predicted.messages[i];
    const std::int64_t count = bytes ? measured.sent[i].value() : measured.messages[i];
    if (plan != 0 || count != 0) {
      rows.push_back({std::string(to_string(static_cast<CommunicationKind>(i))), plan, count});
    }
  }
  return rows;
}

}  // namespace

StepComparison compare_steps(const Program& program, const Trace& predicted, std::span<const Trace> measured) {
  if (measured.empty()) {
    throw Error("no measured trace to compare with", "traces", "run with tracing of at least one step");
  }
  require_program(program, predicted);
  const Meetings meetings(program);
  const Totals plan = Splitter(program, meetings, predicted).split();
  Totals runs;
  for (const Trace& trace : measured) {
    require_program(program, trace);
    const Totals one = Splitter(program, meetings, trace).split();
    const double weight = 1.0 / static_cast<double>(measured.size());
    accumulate(runs.terms, one.terms, weight);
    accumulate(runs.kinds, one.kinds, weight);
    accumulate(runs.movement, one.movement, weight);
  }
  StepComparison comparison;
  comparison.predicted_step = to_seconds(predicted.duration);
  set_measured_step(comparison, measured);
  comparison.terms = table(plan.terms, runs.terms);
  comparison.kinds = table(plan.kinds, runs.kinds);
  comparison.movement = table(plan.movement, runs.movement);
  set_own_errors(comparison);
  rank_by_share(comparison);
  return comparison;
}

std::vector<RankComparison> compare_counts(const Program& program, ByteCount runtime,
                                           std::span<const RankCounts> measured) {
  std::vector<RankComparison> result;
  for (const RankCounts& counts : measured) {
    if (counts.rank.value() < 0 || counts.rank.at() >= program.bindings.size()) {
      throw Error(fmt::format("the run counted rank {}, the plan has {}", counts.rank.value(), program.bindings.size()),
                  "counts", "compare a run with the plan that it ran");
    }
    const Role& role = program.role_of(counts.rank);
    const Volumes planned = volumes(role);
    const MemoryProfile live = memory_profile(role);
    const ByteCount buffers = role.arena_bytes + role.persistent_bytes;
    RankComparison row;
    row.rank = counts.rank;
    for (std::size_t cause = 0; cause < kMemoryCauses; ++cause) {
      if (live.peak_by_cause[cause].value() != 0) {
        row.memory.push_back(
            {std::string(to_string(static_cast<MemoryCause>(cause))), live.peak_by_cause[cause].value(), std::nullopt});
      }
    }
    row.memory.push_back(
        {std::string(to_string(MemoryCause::kFragmentation)), (buffers - live.peak).value(), std::nullopt});
    row.memory.push_back({"buffers", buffers.value(), counts.buffers_allocated.value()});
    row.memory.push_back({"resident", (buffers + runtime).value(), counts.resident_peak.value()});
    row.sent = by_kind(planned, counts.volumes, true);
    row.messages = by_kind(planned, counts.volumes, false);
    row.flops = {"flops", planned.flops.value(), counts.volumes.flops.value()};
    result.push_back(std::move(row));
  }
  return result;
}

}  // namespace trainyard
