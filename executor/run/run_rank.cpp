#include "executor/run/run_rank.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <memory>
#include <mutex>
#include <optional>
#include <string_view>
#include <utility>

#include "core/error.h"
#include "core/model/model_flops.h"
#include "core/plan/run_record.h"
#include "executor/checkpoint/model_weights.h"
#include "executor/checkpoint/save_model.h"
#include "executor/communicator/peer_lost.h"
#include "executor/data/byte_text.h"
#include "executor/data/sampler.h"
#include "executor/run/process_memory.h"
#include "executor/run/rank_checkpoints.h"
#include "executor/run/rank_connection.h"
#include "executor/run/rank_faults.h"
#include "executor/run/rank_statistics.h"
#include "executor/run/replay_count.h"
#include "executor/run/run_files.h"
#include "executor/run/step_trace.h"
#include "executor/worker/interpreter.h"
#include "executor/worker/weight_initializer.h"
#include "executor/worker/worker.h"

namespace trainyard::executor {

namespace {

std::string counts_key(const RankEnvironment& environment, int rank) {
  return environment.prefix + "counts/" + std::to_string(rank);
}

class RankRun {
 public:
  RankRun(const Plan& plan, const RunOptions& options, const RankEnvironment& environment, const RecordSink& sink)
      : plan_(plan),
        options_(options),
        environment_(environment),
        sink_(sink),
        text_(options.data, plan.training.sequence),
        connection_(environment, options.device, options.threads_per_rank, plan.recovery),
        worker_(plan, connection_.device(), connection_.communicator(), {.captures = options.graphs}),
        statistics_(connection_.device(), connection_.communicator()),
        checkpoints_(plan, options_, environment, worker_, connection_,
                     [this](const SaveRecord& save) { take_save(save); }),
        faults_(options_.faults, worker_, connection_.device(), Rank(environment.rank)) {
    files_.folder = options.folder;
    steps_ = std::min(options.steps.value_or(plan.training.steps), plan.training.steps);
    if (rank_zero()) {
      record_ = std::make_unique<LineFile>(files_.record());
    }
  }

  void run() {
    write_header();
    start();
    text_.drop_resident();  // the header's hash has read all of it
    reset_resident_peak();
    for (; step_ < steps_; ++step_) {
      connection_.begin_step(step_);
      faults_.before_step(step_);
      train_step();
    }
    // Of training: evaluation's batches and the gathering of weights to save come on top and aren't planned.
    training_peak_ = resident_peak();
    say_if_graphs_replayed_nothing();
    evaluate();
    connection_.tick();
    if (options_.save_model) {
      save_model(worker_, connection_.communicator(), files_.model());
    }
    connection_.tick();
    write_trace();
    write_counts();
    checkpoints_.finish();
    require_written();
    connection_.communicator().barrier();
  }

  std::int64_t step() const { return step_; }

 private:
  bool rank_zero() const { return environment_.rank == 0; }

  void record(const std::string& line) {
    const std::scoped_lock lock(recording_);  // saves end on a thread of their own
    sink_(line);
    unwritten_ += line;
    try {
      record_->append(unwritten_);
      unwritten_.clear();
    } catch (const Error& failure) {  // a checkpoint may fill the disk for a while: the line is kept
      if (unwritten_ == line) {
        fmt::print(stderr, "the run's record can't be written for now, the run goes on: {}\n", failure.what());
      }
    }
  }

  void require_written() {
    const std::scoped_lock lock(recording_);
    if (!unwritten_.empty()) {
      record_->append(unwritten_);
    }
  }

  void take_save(const SaveRecord& save) {
    if (!save.failure.empty()) {
      fmt::print(stderr, "the checkpoint after step {} could not be saved, the run goes on: {}\n", save.step,
                 save.failure);
    }
    record(to_json_line(save));
  }

  // Parameters from the checkpoint, the given weights or the seed.
  void start() {
    const GenerationOptions& generation = options_.generation;
    const auto begin = std::chrono::steady_clock::now();
    if (generation.checkpoint) {
      checkpoints_.load(*generation.checkpoint);
      step_ = *generation.checkpoint;
    } else {
      worker_.set_parameters(options_.initial_weights ? open_weights(*options_.initial_weights, plan_.model)
                                                      : random_weights(plan_.model, plan_.training));
    }
    if (!generation.restarts) {
      return;
    }
    connection_.communicator().barrier();
    const auto now = std::chrono::steady_clock::now();
    if (rank_zero()) {
      RestartRecord restart;
      restart.generation = generation.number;
      restart.step = step_;
      restart.load_time = from_si<Seconds>(generation.check_time + std::chrono::duration<double>(now - begin).count());
      if (generation.failed_at) {
        const auto since = now.time_since_epoch() - std::chrono::nanoseconds(*generation.failed_at);
        restart.restart_time = from_si<Seconds>(std::chrono::duration<double>(since).count());
      }
      record(to_json_line(restart));
    }
  }

  void write_header() {
    if (!rank_zero() || options_.generation.restarts) {
      return;
    }
    RunHeader header;
    header.plan_hash = content_hash(to_json(plan_));
    header.program_hash = worker_.program().hash;
    header.device = connection_.device().name();
    header.ranks = environment_.size;
    header.threads_per_rank = options_.threads_per_rank;
    header.provenance.version = tool_version();
    header.provenance.inputs["plan"] = header.plan_hash;
    header.provenance.inputs["data"] = options_.generation.data_hash;
    if (options_.initial_weights) {
      header.provenance.inputs[kInitialWeightsInput] = options_.initial_weights->string();
    }
    record(to_json_line(header));
  }

  void train_step() {
    const bool traced = step_ >= steps_ - options_.traced_steps;
    const StepTokens tokens = training_tokens(text_.training(), plan_, step_, worker_.coordinates().data);
    text_.drop_resident();
    const auto begin = std::chrono::steady_clock::now();
    StepResult result = worker_.train(step_, tokens, traced);
    const auto before = std::exchange(step_ended_, std::chrono::steady_clock::now());
    std::array<std::int64_t, RankStatistics::kNumbers> largest{result.duration, resident_peak().value(),
                                                               checkpoints_.busy() ? 1 : 0};
    statistics_.maximum(largest);
    if (traced) {
      traces_.push_back(rank_trace(worker_.program(), Rank(environment_.rank), step_, result.clocks));
      durations_.push_back(largest[0]);
    }
    replays_.add(traced, result.replayed, result.loss_scale);
    counted_ = std::move(result.counted);
    if (rank_zero()) {
      StepRecord step = step_record(result, largest[0], ByteCount(largest[1]));
      if (before) {
        step.between_time = from_si<Seconds>(std::chrono::duration<double>(begin - *before).count());
      }
      record(to_json_line(step));
    }
    const std::int64_t done = step_ + 1;
    if (options_.evaluate_every && done % *options_.evaluate_every == 0 && done < steps_) {
      evaluate();
    }
    checkpoints_.after_step(done, largest[2] != 0, done == steps_);
  }

  StepRecord step_record(const StepResult& result, Nanoseconds duration, ByteCount resident) const {
    StepRecord step;
    step.step = step_;
    step.loss = result.loss;
    step.gradient_norm = result.gradient_norm;
    step.learning_rate = result.learning_rate;
    step.step_time = to_seconds(duration);
    step.tokens_per_second = static_cast<double>(tokens_per_step()) / step.step_time.si();
    if (options_.peak_rate) {
      const Flops needed = model_flops_per_token(plan_.model, plan_.training.sequence, AttentionConvention::kCausal) *
                           static_cast<double>(tokens_per_step());
      const Flops possible = *options_.peak_rate * static_cast<double>(environment_.size) * step.step_time;
      step.mfu = needed / possible;
    }
    step.resident = resident;
    step.loss_scale = result.loss_scale;
    step.skipped = result.skipped;
    return step;
  }

  std::int64_t tokens_per_step() const { return plan_.layout.sequences_per_step() * plan_.training.sequence; }

  void say_if_graphs_replayed_nothing() const {
    if (!options_.graphs || !rank_zero()) {
      return;
    }
    if (const std::optional<std::string> why = replays_.why_none(repeated_part(worker_.role()))) {
      const char* since = options_.generation.restarts ? " since the restart" : "";
      fmt::print(stderr, "--graphs: no step{} was replayed, each operation was enqueued by itself: {}\n", since, *why);
    }
  }

  void evaluate() {
    const std::int64_t windows = window_count(text_.held_back(), plan_.training.sequence);
    const std::int64_t whole = windows / plan_.layout.sequences_per_step();
    const std::int64_t batches = std::clamp(whole, std::int64_t{1}, options_.evaluation_batches);
    double loss = 0;
    for (std::int64_t batch = 0; batch < batches; ++batch) {
      connection_.tick();
      loss += worker_.evaluate(evaluation_tokens(text_.held_back(), plan_, batch, worker_.coordinates().data));
    }
    if (rank_zero()) {
      EvaluationRecord evaluation;
      evaluation.step = std::min(step_ + 1, steps_);
      evaluation.loss = loss / static_cast<double>(batches);
      evaluation.unigram_entropy = unigram_entropy(text_.held_back());
      evaluation.tokens = batches * tokens_per_step();
      record(to_json_line(evaluation));
    }
  }

  void write_trace() {
    if (!traces_.empty()) {
      trainyard::write_trace(traces_[median_index(durations_)], files_.rank_trace(Rank(environment_.rank)));
    }
  }

  void write_counts() {
    RankCounts counts;
    counts.rank = Rank(environment_.rank);
    counts.volumes = counted_;
    counts.buffers_allocated = worker_.buffers_allocated();
    counts.resident_peak = training_peak_;
    counts.replayed_steps = replays_.replayed();
    connection_.store().set(counts_key(environment_, environment_.rank), to_json_line(counts));
    if (!rank_zero()) {
      return;
    }
    for (int rank = 0; rank < environment_.size; ++rank) {
      const std::string key = counts_key(environment_, rank);
      if (!connection_.store().wait({key}, std::chrono::minutes(1))) {
        throw Error("rank " + std::to_string(rank) + " did not report its counts", "run");
      }
      record(connection_.store().get(key).value());
    }
  }

  const Plan& plan_;
  const RunOptions& options_;
  const RankEnvironment& environment_;
  const RecordSink& sink_;
  RunFiles files_;
  ByteText text_;
  RankConnection connection_;
  Worker worker_;
  RankStatistics statistics_;
  std::mutex recording_;
  std::unique_ptr<LineFile> record_;
  std::string unwritten_;  // lines that the disk had no room for
  RankCheckpoints checkpoints_;
  RankFaults faults_;
  std::int64_t steps_ = 0;
  std::int64_t step_ = 0;
  std::vector<Trace> traces_;
  std::vector<Nanoseconds> durations_;
  Volumes counted_;
  ReplayCount replays_;
  std::optional<std::chrono::steady_clock::time_point> step_ended_;  // the step before
  ByteCount training_peak_;
};

}  // namespace

void run_rank(const Plan& plan, const RunOptions& options, const RankEnvironment& environment, const RecordSink& sink) {
  RankRun run(plan, options, environment, sink);
  const auto where = [&] {
    return "rank " + std::to_string(environment.rank) + ", step " + std::to_string(run.step());
  };
  try {
    run.run();
  } catch (const PeerLost& failure) {
    throw PeerLost(failure.what(), where());
  } catch (const std::bad_alloc&) {
    throw Error("out of memory", where(), "a smaller micro-batch, recomputation, ZeRO or more ranks");
  } catch (const std::exception& failure) {
    throw Error(failure.what(), where());
  }
}

}  // namespace trainyard::executor
