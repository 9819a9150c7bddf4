// Study: what a person explores, as one document: a model, a machine, what to train, where to search, what fails; and
// what they have marked: starred layouts, runs. Small and by value, so that undo keeps whole studies.
//
//   { "document": "study", "schema": 1, "name": "...", "model": "llama-3-8b", "machine": "superpod-h100:su=4", ... }
//
// Words are names of models/ or files; a file beside the study is written relative to it. docs/file_formats.md,
// "study".
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace trainyard::gui {

constexpr int kStudySchema = 1;
// The machine that Trainyard itself runs on; priced by its device profile.
constexpr const char* kThisMachine = "this machine";

// Only layouts with these; unset: any.
struct StudyLimits {
  std::optional<int> tensor;
  std::optional<int> pipeline;
  std::optional<int> data;
  std::optional<int> context;
  std::optional<int> expert;
  std::optional<int> zero;
  std::optional<std::int64_t> micro_batch;
  std::string schedule;   // empty: any
  std::string recompute;  // "none", "selective", "full"; empty: any
  bool offload = false;   // also optimizer, activations, parameters in host memory
  friend bool operator==(const StudyLimits&, const StudyLimits&) = default;
};

struct Study {
  std::string name = "Untitled study";
  std::string model = "llama-3-8b";           // name of models/llm, or a config.json
  std::string machine = "dgx-h100-superpod";  // name of models/clusters, fabric, topology file, or kThisMachine
  std::string accelerator;                    // of a fabric whose GPUs aren't known; empty: by their name
  std::string profile;  // of kThisMachine: file that `calibrate` wrote; empty: measure when needed
  std::int64_t ranks = 64;
  std::int64_t sequence = 8192;     // tokens
  std::int64_t global_batch = 512;  // sequences a step
  std::int64_t steps = 1000;
  std::string precision = "bf16";
  std::optional<double> gpu_hour_price;
  std::string failures = "llama3-h100";    // name of models/failures, of no use on kThisMachine; or a file
  std::string mean_time_between_failures;  // of the job, "1 h", in place of the profile's; empty: the profile's
  std::string policy = "restart_from_storage";
  StudyLimits limits;
  std::string data;             // text to train on here; empty: a text that comes with Trainyard
  std::int64_t run_steps = 20;  // of a run here

  std::vector<std::string> starred;  // layouts, as text
  std::vector<std::string> runs;     // folders
  friend bool operator==(const Study&, const Study&) = default;
};

// The inputs that an edit and an error belong to.
enum class Field : std::uint8_t {
  kName,
  kModel,
  kMachine,
  kAccelerator,
  kProfile,
  kRanks,
  kSequence,
  kGlobalBatch,
  kSteps,
  kPrecision,
  kGpuHourPrice,
  kFailures,
  kFailureTime,
  kPolicy,
  kTensor,
  kPipeline,
  kData,
  kContext,
  kExpert,
  kZero,
  kMicroBatch,
  kSchedule,
  kRecompute,
  kOffload,
  kText,
  kRunSteps,
  kMarks,  // stars and runs: no result depends on them
};

// Whether both ask the same of a search: all but marks, name and what concerns runs alone.
bool same_question(const Study& a, const Study& b);

Study parse_study(const std::string& text, const std::string& where);
Study read_study(const std::filesystem::path& file);  // relative files are taken from the study's folder
std::string to_json(const Study& study);
void write_study(const Study& study, const std::filesystem::path& file);  // whole or not at all

}  // namespace trainyard::gui
