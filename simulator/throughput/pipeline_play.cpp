#include "simulator/throughput/pipeline_play.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <optional>
#include <unordered_map>

#include "core/error.h"
#include "core/schedule/schedule.h"

namespace trainyard::simulator {

namespace {

constexpr std::size_t kAnswers = 512;  // a power of two

// A pass in an order in which whatever it waits for comes before it.
struct Turn {
  std::uint32_t after = 0;  // place of the pass that it waits for, among those that others wait for; 0 for none
  std::uint16_t time = 0;   // (stage x chunks + chunk) x 4 + pass
  std::uint16_t where = 0;  // stage x 4 + kCrosses + kAwaited
};
constexpr std::uint16_t kCrosses = 1;  // what it waits for comes from another stage
constexpr std::uint16_t kAwaited = 2;  // others wait for it: it has the next place

// Passes of a chunk: SlotKind's, and the last backward.
constexpr std::size_t kPasses = 4;
constexpr int kLast = 3;
constexpr std::size_t kMostChunks = 65536 / kPasses;
constexpr std::int64_t kGroupsToSettle = 4;  // of interleaved micro-batches, where chunks hold each other up

struct Turns {
  std::vector<Turn> turns;
  std::vector<std::uint16_t> links;  // by turn: that what it waits for comes over
  std::size_t places = 1;
};

// Writes down the turns of all stages in an order that can be played.
class TurnWriter {
 public:
  explicit TurnWriter(const PipelineShape& shape)
      : shape_(shape),
        micro_batches_(static_cast<int>(shape.micro_batches)),
        turns_back_(shape.schedule == ScheduleKind::kZeroBubbleV || shape.schedule == ScheduleKind::kDualPipe) {
    backward_ = weights_apart(shape.schedule) ? SlotKind::kBackwardWeight : SlotKind::kBackwardInput;
    backwards_left_.assign(static_cast<std::size_t>(shape.stages) * static_cast<std::size_t>(shape.chunks), 0);
    for (int stage = 0; stage < shape.stages; ++stage) {
      schedule_.push_back(stage_schedule(shape.schedule, shape.stages, stage, shape.chunks, micro_batches_));
      for (const Slot& slot : schedule_.back()) {
        backwards_left_[index({stage, slot.chunk})] += slot.kind == backward_ ? 1 : 0;
      }
    }
    known_.assign(2 * static_cast<std::size_t>(shape.stages) * static_cast<std::size_t>(shape.chunks) *
                      static_cast<std::size_t>(micro_batches_),
                  0);
  }

  Turns write() {
    std::vector<std::size_t> next(schedule_.size(), 0);
    for (bool moved = true; moved;) {
      moved = false;
      for (std::size_t stage = 0; stage < schedule_.size(); ++stage) {
        // One at a time: turns of different stages don't wait for each other, and a processor plays several at once.
        if (next[stage] < schedule_[stage].size() && add(static_cast<int>(stage), schedule_[stage][next[stage]])) {
          ++next[stage];
          moved = true;
        }
      }
    }
    for (std::size_t stage = 0; stage < schedule_.size(); ++stage) {
      check(next[stage] == schedule_[stage].size(), "a schedule can be played");
    }
    return std::move(made_);
  }

 private:
  std::size_t index(ChunkPlace place) const {
    return static_cast<std::size_t>(place.stage) * static_cast<std::size_t>(shape_.chunks) +
           static_cast<std::size_t>(place.chunk);
  }

  std::uint32_t& known(ChunkPlace place, int micro_batch, bool backward) {
    return known_[2 * (index(place) * static_cast<std::size_t>(micro_batches_) +
                       static_cast<std::size_t>(micro_batch)) +
                  (backward ? 1U : 0U)];
  }

  // False: what it waits for hasn't come yet.
  bool add(int stage, const Slot& slot) {
    const ChunkPlace own{stage, slot.chunk};
    Turn turn;
    std::uint16_t link = 0;
    turn.where = static_cast<std::uint16_t>(4 * stage);
    turn.time = time_of(slot, own);
    if (slot.kind == SlotKind::kBackwardWeight) {
      if (backward_ == SlotKind::kBackwardWeight) {
        --backwards_left_[index(own)];
        push(turn, link);
      }
      return true;
    }
    const bool backward = slot.kind == SlotKind::kBackwardInput;
    const std::optional<ChunkPlace> from = backward
                                               ? next_place(shape_.schedule, shape_.stages, shape_.chunks, own)
                                               : previous_place(shape_.schedule, shape_.stages, shape_.chunks, own);
    if (from) {
      turn.after = known(*from, slot.microbatch, backward);
      const bool down = turns_back_ ? from->stage < stage : !backward;
      turn.where = static_cast<std::uint16_t>(turn.where + (from->stage != stage ? kCrosses : 0));
      link = static_cast<std::uint16_t>(2 * from->stage + (down ? 0 : 1));
    } else if (backward) {
      turn.after = known(own, slot.microbatch, false);
    }
    if ((from || backward) && turn.after == 0) {
      return false;
    }
    turn.where = static_cast<std::uint16_t>(turn.where + kAwaited);
    known(own, slot.microbatch, backward) = static_cast<std::uint32_t>(made_.places++);
    push(turn, link);
    backwards_left_[index(own)] -= slot.kind == backward_ ? 1 : 0;
    return true;
  }

  void push(const Turn& turn, std::uint16_t link) {
    made_.turns.push_back(turn);
    made_.links.push_back(link);
  }

  std::uint16_t time_of(const Slot& slot, ChunkPlace own) const {
    const bool last = slot.kind == backward_ && backwards_left_[index(own)] == 1;
    return static_cast<std::uint16_t>(index(own) * kPasses +
                                      static_cast<std::size_t>(last ? kLast : static_cast<int>(slot.kind)));
  }

  const PipelineShape& shape_;
  int micro_batches_;
  bool turns_back_;  // a chunk's forward runs towards the first stage
  std::vector<std::vector<Slot>> schedule_;
  SlotKind backward_ = SlotKind::kBackwardInput;  // that ends a micro-batch's work in a chunk
  std::vector<int> backwards_left_;               // by chunk
  std::vector<std::uint32_t> known_;
  Turns made_;
};

struct ShapeHash {
  std::size_t operator()(const PipelineShape& shape) const {
    return ((static_cast<std::size_t>(shape.micro_batches) * 131 + static_cast<std::size_t>(shape.stages)) * 131 +
            static_cast<std::size_t>(shape.chunks)) *
               8 +
           static_cast<std::size_t>(shape.schedule);
  }
};

struct Question {
  PipelineShape shape;
  double transfer = 0.0;
  std::vector<PassTimes> passes;
  friend bool operator==(const Question&, const Question&) = default;
};

std::size_t hash_of(const PipelineShape& shape, const std::vector<PassTimes>& passes, double transfer) {
  std::uint64_t hash = ShapeHash()(shape);
  const auto mix = [&](double value) {
    hash = (hash ^ std::bit_cast<std::uint64_t>(value)) * 0x9e3779b97f4a7c15U;
    hash ^= hash >> 29U;
  };
  mix(transfer);
  for (const PassTimes& pass : passes) {
    mix(pass.forward);
    mix(pass.input + 2.0 * pass.weight + 3.0 * pass.last);
  }
  return hash;
}

// What a micro-batch adds under GPipe, whose stages do all forwards before any backward.
double forward_and_backward(const std::vector<PassTimes>& passes) {
  double forward = 0.0;
  double backward = 0.0;
  for (const PassTimes& pass : passes) {
    forward = std::max(forward, pass.before_forward + pass.forward);
    backward = std::max(backward, pass.before_input + pass.input + pass.weight);
  }
  return forward + backward;
}

// What a micro-batch adds to the busiest stage's work, on average.
double busiest(const PipelineShape& shape, const std::vector<PassTimes>& passes) {
  const double each = shape.schedule == ScheduleKind::kDualPipe ? 0.5 : 1.0;
  const auto chunks = static_cast<std::size_t>(shape.chunks);
  double most = 0.0;
  for (std::size_t first = 0; first < passes.size(); first += chunks) {
    double own = 0.0;
    for (std::size_t i = first; i < first + chunks; ++i) {
      own += each * passes[i].sum();
    }
    most = std::max(most, own);
  }
  return most;
}

// Interleaved chunks that are longest on different stages hold each other up: no stage's own work says how long a group
// of micro-batches takes.
bool held_up_by_chunks(const PipelineShape& shape, const std::vector<PassTimes>& passes) {
  if (shape.schedule != ScheduleKind::kInterleaved) {
    return false;
  }
  constexpr double kNegligible = 0.005;
  const auto chunks = static_cast<std::size_t>(shape.chunks);
  double in_step = 0.0;  // the longest of each chunk
  for (std::size_t chunk = 0; chunk < chunks; ++chunk) {
    double longest = 0.0;
    for (std::size_t i = chunk; i < passes.size(); i += chunks) {
      longest = std::max(longest, passes[i].sum());
    }
    in_step += longest;
  }
  return in_step > (1.0 + kNegligible) * busiest(shape, passes);
}

double latest(const StageEnds& ends) { return *std::max_element(ends.begin(), ends.end()); }

// Micro-batches beyond which another adds a period, in stages.
std::int64_t settled(ScheduleKind kind) {
  switch (kind) {
    case ScheduleKind::kGpipe:
    case ScheduleKind::k1f1b:
    case ScheduleKind::kInterleaved:
      return 1;
    case ScheduleKind::kDualPipe:
      return 3;
    default:
      return 2;
  }
}

// Of a micro-batch under 1F1B: on its way from stage s to the last and back while s has as many as it may.
double round_trip(const std::vector<PassTimes>& passes, double transfer) {
  double longest = 0.0;
  double way = 0.0;
  double stages = 0.0;
  for (auto pass = passes.rbegin(); pass != passes.rend(); ++pass) {
    way += pass->forward + pass->input + pass->weight;
    stages += 1.0;
    longest = std::max(longest, (way + 2.0 * (stages - 1.0) * transfer) / stages);
  }
  return longest;
}

// What a further micro-batch adds to a step that is filled and drained.
double period(const PipelineShape& shape, const std::vector<PassTimes>& passes, double transfer) {
  switch (shape.schedule) {
    case ScheduleKind::kGpipe:
      return forward_and_backward(passes);
    case ScheduleKind::k1f1b:
      return std::max(busiest(shape, passes), round_trip(passes, transfer));
    default:
      return busiest(shape, passes);
  }
}

}  // namespace

struct PipelinePlay::Impl {
  struct Answer {
    std::optional<Question> question;
    StageEnds ends;
  };
  std::unordered_map<PipelineShape, Turns, ShapeHash> turns;
  std::vector<Answer> answers{kAnswers};
  std::vector<double> over;  // by place: when the pass is
  struct Time {
    double before = 0.0;
    double pass = 0.0;
  };
  std::vector<Time> times;    // of passes
  std::vector<double> links;  // when the link is free

  void play(const PipelineShape& shape, const std::vector<PassTimes>& passes, double transfer, StageEnds& ends);
  template <bool Queues>
  void play_turns(const Turns& played, double transfer, StageEnds& ends);
};

// Queues: transfers may wait for each other.
template <bool Queues>
void PipelinePlay::Impl::play_turns(const Turns& played, double transfer, StageEnds& ends) {
  const std::array<double, 2> takes = {0.0, transfer};
  std::size_t place = 1;
  over[0] = 0.0;
  for (std::size_t i = 0; i < played.turns.size(); ++i) {
    const Turn turn = played.turns[i];
    double ready = over[turn.after];
    if constexpr (Queues) {
      if ((turn.where & kCrosses) != 0) {
        double& link = links[played.links[i]];
        ready = std::max(ready, link) + transfer;
        link = ready;
      }
    } else {
      ready += takes[turn.where & kCrosses];
    }
    double& end = ends[turn.where >> 2U];
    const Time& time = times[turn.time];
    end = std::max(end + time.before, ready) + time.pass;
    over[place] = end;
    place += (turn.where & kAwaited) != 0 ? 1 : 0;
  }
}

void PipelinePlay::Impl::play(const PipelineShape& shape, const std::vector<PassTimes>& passes, double transfer,
                              StageEnds& ends) {
  auto entry = turns.find(shape);
  if (entry == turns.end()) {
    entry = turns.emplace(shape, TurnWriter(shape).write()).first;
  }
  const bool apart = weights_apart(shape.schedule);
  times.clear();
  for (const PassTimes& pass : passes) {
    const double input = pass.input + (apart ? 0.0 : pass.weight);
    times.push_back({pass.before_forward, pass.forward});
    times.push_back({pass.before_input, input});
    times.push_back({0.0, pass.weight});
    times.push_back({apart ? 0.0 : pass.before_input, (apart ? pass.weight : input) + pass.last});
  }
  over.resize(entry->second.places + 1);
  links.assign(2 * static_cast<std::size_t>(shape.stages), 0.0);
  ends.assign(static_cast<std::size_t>(shape.stages), 0.0);
  // A stage sends once a pass: transfers shorter than any pass never meet.
  const auto shortest =
      std::min_element(times.begin(), times.end(), [](const Time& a, const Time& b) { return a.pass < b.pass; });
  if (shortest->pass < transfer) {
    play_turns<true>(entry->second, transfer, ends);
  } else {
    play_turns<false>(entry->second, transfer, ends);
  }
}

PipelinePlay::PipelinePlay() : impl_(std::make_unique<Impl>()) {}
PipelinePlay::~PipelinePlay() = default;

const StageEnds& PipelinePlay::ends(const PipelineShape& shape, const std::vector<PassTimes>& passes, double transfer) {
  check(passes.size() == static_cast<std::size_t>(shape.stages) * static_cast<std::size_t>(shape.chunks),
        "every chunk has times");
  check(passes.size() <= kMostChunks, "a turn names its chunk in 16 bits");
  Impl& impl = *impl_;
  Impl::Answer& answer = impl.answers[hash_of(shape, passes, transfer) % kAnswers];
  if (answer.question && answer.question->shape == shape && answer.question->transfer == transfer &&
      answer.question->passes == passes) {
    return answer.ends;
  }
  answer.question = Question{shape, transfer, passes};
  const bool held_up = held_up_by_chunks(shape, passes);
  PipelineShape part = shape;
  part.micro_batches =
      std::min(shape.micro_batches, (held_up ? kGroupsToSettle : settled(shape.schedule)) * shape.stages);
  impl.play(part, passes, transfer, answer.ends);
  if (part.micro_batches < shape.micro_batches) {
    const auto periods = static_cast<double>(shape.micro_batches - part.micro_batches);
    double each = 0.0;
    if (held_up) {
      StageEnds fewer;
      const PipelineShape before{shape.schedule, shape.stages, shape.chunks, part.micro_batches - shape.stages};
      impl.play(before, passes, transfer, fewer);
      each = (latest(answer.ends) - latest(fewer)) / shape.stages;
    } else {
      each = period(shape, passes, transfer);
    }
    for (double& end : answer.ends) {
      end += periods * each;
    }
  }
  return answer.ends;
}

}  // namespace trainyard::simulator
