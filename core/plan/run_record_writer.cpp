#include <cmath>
#include <nlohmann/json.hpp>

#include "core/plan/provenance_json.h"
#include "core/plan/run_record.h"

namespace trainyard {

namespace {

using nlohmann::ordered_json;

// JSON has no NaN: a loss that is no longer finite is null.
ordered_json finite_or_null(double value) { return std::isfinite(value) ? ordered_json(value) : ordered_json(nullptr); }

// A dying rank's last words may be any bytes.
std::string line(const ordered_json& json) {
  return json.dump(-1, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}

ordered_json failure_json(const RunFailure& failure) {
  ordered_json details = ordered_json::object();
  if (failure.rank) {
    details["rank"] = failure.rank->value();
  }
  if (failure.step) {
    details["step"] = *failure.step;
  }
  details["cause"] = failure.cause;
  details["last_lines"] = failure.last_lines;
  return details;
}

}  // namespace

std::string to_json_line(const RunHeader& header) {
  return line({{"record", "header"},
               {"document", "run_record"},
               {"schema", kRunRecordSchema},
               {"plan_hash", header.plan_hash},
               {"program_hash", header.program_hash},
               {"device", header.device},
               {"ranks", header.ranks},
               {"threads_per_rank", header.threads_per_rank},
               {"provenance", provenance_json(header.provenance)}});
}

std::string to_json_line(const StepRecord& step) {
  ordered_json json = {{"record", "step"},
                       {"step", step.step},
                       {"loss", finite_or_null(step.loss)},
                       {"gradient_norm", finite_or_null(step.gradient_norm)},
                       {"learning_rate", step.learning_rate},
                       {"step_time_s", step.step_time.si()}};
  if (step.between_time) {
    json["between_s"] = step.between_time->si();
  }
  json["tokens_per_second"] = step.tokens_per_second;
  if (step.mfu) {
    json["mfu"] = *step.mfu;
  }
  json["resident_bytes"] = step.resident.value();
  if (step.loss_scale) {
    json["loss_scale"] = *step.loss_scale;
    json["skipped"] = step.skipped;
  }
  return line(json);
}

std::string to_json_line(const EvaluationRecord& evaluation) {
  return line({{"record", "evaluation"},
               {"step", evaluation.step},
               {"loss", finite_or_null(evaluation.loss)},
               {"unigram_entropy", evaluation.unigram_entropy},
               {"tokens", evaluation.tokens}});
}

std::string to_json_line(const RankCounts& counts) {
  ordered_json sent = ordered_json::object();
  ordered_json messages = ordered_json::object();
  for (int k = 0; k < kCommunicationKinds; ++k) {
    const std::string kind(to_string(static_cast<CommunicationKind>(k)));
    sent[kind] = counts.volumes.sent[static_cast<std::size_t>(k)].value();
    messages[kind] = counts.volumes.messages[static_cast<std::size_t>(k)];
  }
  return line({{"record", "counts"},
               {"rank", counts.rank.value()},
               {"flops", counts.volumes.flops.value()},
               {"sent_bytes", sent},
               {"messages", messages},
               {"buffers_allocated_bytes", counts.buffers_allocated.value()},
               {"resident_peak_bytes", counts.resident_peak.value()},
               {"replayed_steps", counts.replayed_steps}});
}

std::string to_json_line(const SaveRecord& save) {
  ordered_json json = {{"record", "save"},
                       {"step", save.step},
                       {"blocking_s", save.blocking_time.si()},
                       {"save_s", save.save_time.si()},
                       {"bytes", save.bytes.value()}};
  if (!save.failure.empty()) {
    json["failure"] = save.failure;
  }
  return line(json);
}

std::string to_json_line(const FailureRecord& failure) {
  ordered_json json = {{"record", "failure"}, {"generation", failure.generation}, {"at_s", failure.at.si()}};
  if (failure.detection_time) {
    json["detect_s"] = failure.detection_time->si();
  }
  json["failure"] = failure_json(failure.failure);
  return line(json);
}

std::string to_json_line(const RestartRecord& restart) {
  ordered_json json = {{"record", "restart"},
                       {"generation", restart.generation},
                       {"step", restart.step},
                       {"load_s", restart.load_time.si()}};
  if (restart.restart_time) {
    json["restart_s"] = restart.restart_time->si();
  }
  return line(json);
}

std::string end_json_line(const std::optional<RunFailure>& failure, const std::optional<Seconds>& wall_time) {
  ordered_json json = {{"record", "end"}, {"complete", !failure}};
  if (wall_time) {
    json["wall_s"] = wall_time->si();
  }
  if (failure) {
    json["failure"] = failure_json(*failure);
  }
  return line(json);
}

}  // namespace trainyard
