#include <string_view>

#include "core/document/json_document.h"
#include "core/error.h"
#include "core/plan/provenance_json.h"
#include "core/plan/run_record.h"
#include "core/plan/steps_beside_saves.h"

namespace trainyard {

namespace {

// Counts of a rank's step. A thousand ranks' can be added up.
constexpr std::int64_t kMostCounted = std::int64_t{1} << 53;
constexpr std::int64_t kMostFlops = std::int64_t{1} << 62;

constexpr ByteCount kRunRecordLimit = ByteCount(std::int64_t{1} << 30);

RunHeader read_header(ObjectReader& reader) {
  reader.document("run_record", kRunRecordSchema);
  RunHeader header;
  header.plan_hash = reader.text("plan_hash");
  header.program_hash = reader.text("program_hash");
  header.device = reader.text("device");
  header.ranks = reader.integer("ranks", 1);
  header.threads_per_rank = reader.integer("threads_per_rank", 1);
  header.provenance = read_provenance(reader);
  return header;
}

StepRecord read_step(ObjectReader& reader) {
  StepRecord step;
  step.step = reader.integer("step");
  step.loss = reader.number_or_nan("loss");
  step.gradient_norm = reader.number_or_nan("gradient_norm");
  step.learning_rate = reader.number("learning_rate");
  step.step_time = reader.si<Seconds>("step_time_s");
  if (reader.has("between_s")) {
    step.between_time = reader.si<Seconds>("between_s");
  }
  step.tokens_per_second = reader.number("tokens_per_second");
  step.mfu = reader.optional_number("mfu");
  step.resident = ByteCount(reader.integer("resident_bytes", 0, kMostCounted));
  step.loss_scale = reader.optional_number("loss_scale");
  step.skipped = reader.optional_boolean("skipped").value_or(false);
  return step;
}

EvaluationRecord read_evaluation(ObjectReader& reader) {
  EvaluationRecord evaluation;
  evaluation.step = reader.integer("step");
  evaluation.loss = reader.number_or_nan("loss");
  evaluation.unigram_entropy = reader.number("unigram_entropy");
  evaluation.tokens = reader.integer("tokens");
  return evaluation;
}

RankCounts read_counts(ObjectReader& reader) {
  RankCounts counts;
  counts.rank = Rank(reader.small_integer("rank"));
  counts.volumes.flops = FlopCount(reader.integer("flops", 0, kMostFlops));
  ObjectReader sent = reader.object("sent_bytes");
  ObjectReader messages = reader.object("messages");
  for (int k = 0; k < kCommunicationKinds; ++k) {
    const std::string_view kind = to_string(static_cast<CommunicationKind>(k));
    counts.volumes.sent[static_cast<std::size_t>(k)] = ByteCount(sent.integer(kind, 0, kMostCounted));
    counts.volumes.messages[static_cast<std::size_t>(k)] = messages.integer(kind, 0, kMostCounted);
  }
  sent.finish();
  messages.finish();
  counts.buffers_allocated = ByteCount(reader.integer("buffers_allocated_bytes", 0, kMostCounted));
  counts.resident_peak = ByteCount(reader.integer("resident_peak_bytes", 0, kMostCounted));
  counts.replayed_steps = reader.optional_integer("replayed_steps").value_or(0);
  return counts;
}

RunFailure read_failure(ObjectReader reader) {
  RunFailure failure;
  if (const std::optional<int> rank = reader.optional_small_integer("rank")) {
    failure.rank = Rank(*rank);
  }
  failure.step = reader.optional_integer("step");
  failure.cause = reader.text("cause");
  failure.last_lines = reader.texts("last_lines");
  reader.finish();
  return failure;
}

SaveRecord read_save(ObjectReader& reader) {
  SaveRecord save;
  save.step = reader.integer("step");
  save.failure = reader.optional_text("failure").value_or("");
  save.blocking_time = reader.si<Seconds>("blocking_s");
  save.save_time = reader.si<Seconds>("save_s");
  save.bytes = ByteCount(reader.integer("bytes", 0, kMostCounted));
  return save;
}

FailureRecord read_survived_failure(ObjectReader& reader) {
  FailureRecord failure;
  failure.generation = reader.integer("generation");
  if (reader.has("at_s")) {
    failure.at = reader.si<Seconds>("at_s");
  }
  if (reader.has("detect_s")) {
    failure.detection_time = reader.si<Seconds>("detect_s");
  }
  failure.failure = read_failure(reader.object("failure"));
  return failure;
}

RestartRecord read_restart(ObjectReader& reader) {
  RestartRecord restart;
  restart.generation = reader.integer("generation");
  restart.step = reader.integer("step");
  restart.load_time = reader.si<Seconds>("load_s");
  if (reader.has("restart_s")) {
    restart.restart_time = reader.si<Seconds>("restart_s");
  }
  return restart;
}

// Back to `restart.step` steps done: what came later is done again.
void go_back(RunRecord& record, const RestartRecord& restart) {
  while (!record.steps.empty() && record.steps.back().step >= restart.step) {
    ++record.lost_steps;
    record.lost_time += record.steps.back().step_time;
    record.steps.pop_back();
  }
  std::erase_if(record.evaluations, [&](const EvaluationRecord& evaluation) { return evaluation.step > restart.step; });
  record.counts.clear();
  record.failure.reset();
  record.complete = false;
  record.restarts.push_back(restart);
}

void read_end(ObjectReader& reader, RunRecord& record) {
  record.complete = reader.boolean("complete");
  if (reader.has("wall_s")) {
    record.wall_time = record.wall_time.value_or(Seconds()) + reader.si<Seconds>("wall_s");
  }
  if (reader.has("failure")) {
    record.failure = read_failure(reader.object("failure"));
  }
  if (record.complete == record.failure.has_value()) {
    reader.fail("complete", "contradicts \"failure\"");
  }
}

// Reads lines one by one and keeps them in order: a header, then anything; after an end only a restart.
class LineReader {
 public:
  void read(const std::string& line, const std::string& where) {
    ObjectReader reader = parse_json_object(line, where);
    const std::string kind = reader.text("record");
    if (ended_ && kind != "restart") {
      throw Error("a line after the end line", where);
    }
    ended_ = false;
    if (!started_ != (kind == "header")) {
      throw Error(started_ ? "a second header line" : "the first line is not a header", where,
                  "is this a Trainyard run record?");
    }
    started_ = true;
    read_record(kind, reader);
    reader.finish();
  }
  bool started() const { return started_; }
  RunRecord take() { return std::move(record_); }

 private:
  void read_record(const std::string& kind, ObjectReader& reader) {
    if (kind == "header") {
      record_.header = read_header(reader);
    } else if (kind == "step") {
      record_.steps.push_back(read_step(reader));
    } else if (kind == "evaluation") {
      record_.evaluations.push_back(read_evaluation(reader));
    } else if (kind == "counts") {
      record_.counts.push_back(read_counts(reader));
    } else if (kind == "save") {
      record_.saves.push_back(read_save(reader));
    } else if (kind == "failure") {
      record_.failures.push_back(read_survived_failure(reader));
    } else if (kind == "restart") {
      go_back(record_, read_restart(reader));
    } else if (kind == "end") {
      read_end(reader, record_);
      ended_ = true;
    } else {
      reader.fail("record", "\"" + kind + "\" is not a kind of record",
                  "one of: header, step, evaluation, counts, save, failure, restart, end");
    }
  }

  RunRecord record_;
  bool started_ = false;
  bool ended_ = false;
};

}  // namespace

Seconds RunRecord::useful_time() const {
  return static_cast<double>(steps.size()) * steps_beside_saves(*this).undisturbed;
}

std::vector<Seconds> warm_steps(const RunRecord& record) {
  std::vector<Seconds> steps;
  for (std::size_t i = record.steps.size() > 1 ? 1 : 0; i < record.steps.size(); ++i) {
    steps.push_back(record.steps[i].step_time);
  }
  std::sort(steps.begin(), steps.end());
  return steps;
}

RunRecord read_run_record(const std::filesystem::path& file) {
  const std::string text = read_text_file(file, kRunRecordLimit);
  LineReader lines;
  std::int64_t number = 1;
  for (std::size_t begin = 0; begin < text.size(); ++number) {
    const std::size_t newline = text.find('\n', begin);
    // Every line is written with its newline: one without was cut short when the run was killed.
    if (newline == std::string::npos) {
      break;
    }
    lines.read(text.substr(begin, newline - begin), file.string() + ":" + std::to_string(number));
    begin = newline + 1;
  }
  if (!lines.started()) {
    throw Error("holds no whole line", file.string(), "did the run end before it began?");
  }
  return lines.take();
}

}  // namespace trainyard
