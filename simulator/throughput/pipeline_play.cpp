#include "simulator/throughput/pipeline_play.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <optional>
#include <unordered_map>

#include "core/error.h"
#include "core/schedule/schedule.h"
#include "simulator/throughput/pipeline_period.h"
#include "simulator/throughput/pipeline_turns.h"
#include "simulator/throughput/scatter_stream.h"

namespace trainyard::simulator {

namespace {

constexpr std::size_t kAnswers = 512;        // a power of two
constexpr std::int64_t kGroupsToSettle = 4;  // of pp micro-batches, where no stage's own work says how long one takes

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
    mix(pass.input + 2.0 * pass.weight + 3.0 * pass.last + 5.0 * pass.scattering.sum());
  }
  return hash;
}

double latest(const StageEnds& ends) {
  return std::max_element(ends.begin(), ends.end(),
                          [](const StageEnd& a, const StageEnd& b) { return a.passes < b.passes; })
      ->passes;
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
  std::vector<Time> times;             // of passes
  std::vector<Scatter> scatters;       // behind passes
  std::vector<ScatterStream> streams;  // by stage
  std::vector<double> links;           // when the link is free

  void play(const PipelineShape& shape, const std::vector<PassTimes>& passes, double transfer, StageEnds& ends);
  void set_scatters(const std::vector<PassTimes>& passes, bool apart);
  template <bool Queues, bool Scatters>
  void play_turns(const Turns& played, double transfer, StageEnds& ends);
};

// Queues: transfers may wait for each other. Scatters: passes may wait for what is scattered.
template <bool Queues, bool Scatters>
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
    double& end = ends[turn.where >> 2U].passes;
    const Time& time = times[turn.time];
    end = std::max(end + time.before, ready);
    if constexpr (Scatters) {
      end = streams[turn.where >> 2U].after(end, time.pass, scatters[turn.time]);
    } else {
      end += time.pass;
    }
    over[place] = end;
    if constexpr (Scatters) {
      if (scatters[turn.time].layer_pass > 0.0) {
        end = std::max(end, streams[turn.where >> 2U].one_buffer());
      }
    }
    place += (turn.where & kAwaited) != 0 ? 1 : 0;
  }
}

void PipelinePlay::Impl::play(const PipelineShape& shape, const std::vector<PassTimes>& passes, double transfer,
                              StageEnds& ends) {
  auto entry = turns.find(shape);
  if (entry == turns.end()) {
    entry = turns.emplace(shape, turns_of(shape)).first;
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
  ends.assign(static_cast<std::size_t>(shape.stages), {});
  const bool scatter = scatters_gradients(passes);
  // A stage sends once a pass: transfers shorter than any pass never meet.
  const auto shortest =
      std::min_element(times.begin(), times.end(), [](const Time& a, const Time& b) { return a.pass < b.pass; });
  const bool queues = shortest->pass < transfer;
  if (!scatter) {
    queues ? play_turns<true, false>(entry->second, transfer, ends)
           : play_turns<false, false>(entry->second, transfer, ends);
  } else {
    set_scatters(passes, apart);
    streams.assign(ends.size(), {});
    queues ? play_turns<true, true>(entry->second, transfer, ends)
           : play_turns<false, true>(entry->second, transfer, ends);
  }
  for (std::size_t stage = 0; stage < ends.size(); ++stage) {
    ends[stage].scattered = std::max(ends[stage].passes, scatter ? streams[stage].all : 0.0);
  }
}

void PipelinePlay::Impl::set_scatters(const std::vector<PassTimes>& passes, bool apart) {
  scatters.clear();
  for (const PassTimes& pass : passes) {
    const Scatter backward = scatter_of(pass, SlotKind::kBackwardWeight, apart);
    scatters.push_back(scatter_of(pass, SlotKind::kForward, apart));
    scatters.push_back(scatter_of(pass, SlotKind::kBackwardInput, apart));
    scatters.push_back(backward);
    scatters.push_back(backward);
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
  const bool scatters = scatters_gradients(passes);
  const std::int64_t groups =
      held_up ? kGroupsToSettle : settled(shape.schedule) + (scatters && !weights_apart(shape.schedule) ? 1 : 0);
  PipelineShape part = shape;
  part.micro_batches = std::min(shape.micro_batches, groups * shape.stages);
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
      each = period(shape, scatters ? beside_scattering(shape, passes) : passes, transfer);
    }
    for (StageEnd& end : answer.ends) {
      end.passes += periods * each;
      end.scattered += periods * each;
    }
  }
  return answer.ends;
}

}  // namespace trainyard::simulator
