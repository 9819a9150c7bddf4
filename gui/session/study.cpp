#include "gui/session/study.h"

#include <nlohmann/json.hpp>
#include <system_error>

#include "core/document/json_document.h"
#include "core/document/read_file.h"
#include "core/document/write_file.h"

namespace trainyard::gui {

namespace {

using nlohmann::ordered_json;
namespace fs = std::filesystem;

constexpr std::int64_t kMost = std::int64_t{1} << 40;
constexpr double kMostPrice = 1e6;

StudyLimits read_limits(ObjectReader reader) {
  StudyLimits limits;
  limits.tensor = reader.optional_small_integer("tensor", 1);
  limits.pipeline = reader.optional_small_integer("pipeline", 1);
  limits.data = reader.optional_small_integer("data", 1);
  limits.context = reader.optional_small_integer("context", 1);
  limits.expert = reader.optional_small_integer("expert", 1);
  limits.zero = reader.optional_small_integer("zero", 0, 3);
  limits.micro_batch = reader.optional_integer("micro_batch", 1, kMost);
  limits.schedule = reader.optional_text("schedule").value_or("");
  limits.recompute = reader.optional_text("recompute").value_or("");
  limits.offload = reader.optional_boolean("offload").value_or(false);
  reader.finish();
  return limits;
}

template <class T>
void put(ordered_json& object, const char* key, const std::optional<T>& value) {
  if (value) {
    object[key] = *value;
  }
}

void put(ordered_json& object, const char* key, const std::string& text) {
  if (!text.empty()) {
    object[key] = text;
  }
}

ordered_json limits_json(const StudyLimits& limits) {
  ordered_json object = ordered_json::object();
  put(object, "tensor", limits.tensor);
  put(object, "pipeline", limits.pipeline);
  put(object, "data", limits.data);
  put(object, "context", limits.context);
  put(object, "expert", limits.expert);
  put(object, "zero", limits.zero);
  put(object, "micro_batch", limits.micro_batch);
  put(object, "schedule", limits.schedule);
  put(object, "recompute", limits.recompute);
  if (limits.offload) {
    object["offload"] = true;
  }
  return object;
}

// A file beside the study, where the word names one; names of models/ and absolute paths stay.
void take_from(const fs::path& folder, std::string& word) {
  std::error_code ignored;
  if (!word.empty() && fs::path(word).is_relative() && fs::exists(folder / word, ignored)) {
    word = (folder / word).lexically_normal().string();
  }
}

void make_relative(const fs::path& folder, std::string& word) {
  const fs::path path(word);
  if (path.is_absolute()) {
    const fs::path relative = path.lexically_relative(folder);
    if (!relative.empty() && *relative.begin() != "..") {
      word = relative.string();
    }
  }
}

template <class Visit>
void for_each_file(Study& study, const Visit& visit) {
  for (std::string* word :
       {&study.model, &study.machine, &study.accelerator, &study.profile, &study.failures, &study.data}) {
    visit(*word);
  }
  for (std::string& run : study.runs) {
    visit(run);
  }
}

fs::path folder_of(const fs::path& file) {
  std::error_code ignored;
  return fs::absolute(file, ignored).parent_path();
}

}  // namespace

bool same_question(const Study& a, const Study& b) {
  Study same = b;
  same.name = a.name;
  same.starred = a.starred;
  same.runs = a.runs;
  same.data = a.data;
  same.run_steps = a.run_steps;
  return same == a;
}

Study parse_study(const std::string& text, const std::string& where) {
  ObjectReader reader = parse_json_object(text, where);
  reader.document("study", kStudySchema);
  Study study;
  study.name = reader.optional_text("name").value_or(study.name);
  study.model = reader.text("model");
  study.machine = reader.text("machine");
  study.accelerator = reader.optional_text("accelerator").value_or("");
  study.profile = reader.optional_text("profile").value_or("");
  study.ranks = reader.integer("ranks", 1, kMost);
  study.sequence = reader.integer("sequence", 1, kMost);
  study.global_batch = reader.integer("global_batch", 1, kMost);
  study.steps = reader.optional_integer("steps", 1, kMost).value_or(study.steps);
  study.precision = reader.optional_text("precision").value_or(study.precision);
  study.gpu_hour_price = reader.optional_number("gpu_hour_price", 0.0, kMostPrice);
  study.failures = reader.optional_text("failures").value_or("");
  study.mean_time_between_failures = reader.optional_text("mean_time_between_failures").value_or("");
  study.policy = reader.optional_text("policy").value_or(study.policy);
  if (const auto limits = reader.optional_object("limits")) {
    study.limits = read_limits(*limits);
  }
  study.data = reader.optional_text("data").value_or("");
  study.run_steps = reader.optional_integer("run_steps", 1, kMost).value_or(study.run_steps);
  if (reader.has("starred")) {
    study.starred = reader.texts("starred");
  }
  if (reader.has("runs")) {
    study.runs = reader.texts("runs");
  }
  reader.finish();
  return study;
}

Study read_study(const fs::path& file) {
  Study study = parse_study(read_text_file(file), file.string());
  for_each_file(study, [folder = folder_of(file)](std::string& word) { take_from(folder, word); });
  return study;
}

std::string to_json(const Study& study) {
  ordered_json object = {{"document", "study"}, {"schema", kStudySchema}, {"name", study.name}};
  object["model"] = study.model;
  object["machine"] = study.machine;
  put(object, "accelerator", study.accelerator);
  put(object, "profile", study.profile);
  object["ranks"] = study.ranks;
  object["sequence"] = study.sequence;
  object["global_batch"] = study.global_batch;
  object["steps"] = study.steps;
  object["precision"] = study.precision;
  put(object, "gpu_hour_price", study.gpu_hour_price);
  put(object, "failures", study.failures);
  put(object, "mean_time_between_failures", study.mean_time_between_failures);
  object["policy"] = study.policy;
  if (const ordered_json limits = limits_json(study.limits); !limits.empty()) {
    object["limits"] = limits;
  }
  put(object, "data", study.data);
  object["run_steps"] = study.run_steps;
  if (!study.starred.empty()) {
    object["starred"] = study.starred;
  }
  if (!study.runs.empty()) {
    object["runs"] = study.runs;
  }
  return object.dump(2) + "\n";
}

void write_study(const Study& study, const fs::path& file) {
  Study written = study;
  for_each_file(written, [folder = folder_of(file)](std::string& word) { make_relative(folder, word); });
  write_file(file, to_json(written));
}

}  // namespace trainyard::gui
