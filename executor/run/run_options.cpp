#include "executor/run/run_options.h"

#include <array>
#include <charconv>
#include <functional>
#include <map>
#include <system_error>

#include "core/error.h"

namespace trainyard::executor {

namespace {

constexpr const char* kFolder = "--folder";
constexpr const char* kData = "--data";
constexpr const char* kInitialWeights = "--init";
constexpr const char* kSteps = "--steps";
constexpr const char* kDevice = "--device";
constexpr const char* kRanksPerGpu = "--ranks-per-gpu";
constexpr const char* kThreads = "--threads";
constexpr const char* kTracedSteps = "--traced-steps";
constexpr const char* kEvaluateEvery = "--evaluate-every";
constexpr const char* kEvaluationBatches = "--evaluation-batches";
constexpr const char* kPeakRate = "--peak-flops-per-s";
constexpr const char* kSaveModel = "--save-model";
constexpr const char* kGraphs = "--graphs";
constexpr const char* kHang = "--hang-at";
constexpr const char* kBitFlips = "--bit-flips";
constexpr const char* kFaultSeed = "--fault-seed";
constexpr const char* kGeneration = "--generation";
constexpr const char* kCheckpoint = "--checkpoint";
constexpr const char* kRestarts = "--restarts";
constexpr const char* kFailedAt = "--failed-at-ns";
constexpr const char* kCheckTime = "--check-s";
constexpr const char* kDataHash = "--data-hash";

std::string exact(double value) {
  std::array<char, 40> text{};
  const auto end = std::to_chars(text.data(), text.data() + text.size(), value);
  return {text.data(), end.ptr};
}

class Arguments {
 public:
  explicit Arguments(const std::vector<std::string>& arguments) {
    if (arguments.size() % 2 != 0) {
      throw Error("arguments come in pairs", "rank");
    }
    for (std::size_t i = 0; i < arguments.size(); i += 2) {
      values_[arguments[i]] = arguments[i + 1];
    }
  }
  std::optional<std::string> text(const std::string& name) const {
    const auto found = values_.find(name);
    return found == values_.end() ? std::nullopt : std::optional(found->second);
  }
  template <class T>
  std::optional<T> number(const std::string& name) const {
    const auto given = text(name);
    if (!given) {
      return std::nullopt;
    }
    T value{};
    const char* end = given->data() + given->size();
    const auto parsed = std::from_chars(given->data(), end, value);
    if (parsed.ec != std::errc() || parsed.ptr != end) {
      throw Error("'" + *given + "' is not a number", "rank " + name);
    }
    return value;
  }
  std::string required(const std::string& name) const {
    const auto given = text(name);
    if (!given) {
      throw Error("is missing", "rank " + name, "this verb is for the launcher; use `trainyard run`");
    }
    return *given;
  }

 private:
  std::map<std::string, std::string> values_;
};

using Add = std::function<void(const char* name, const std::string& value)>;

// Kills are the launcher's.
void add_faults(const InjectedFaults& faults, const Add& add) {
  if (faults.hang_step) {
    add(kHang, std::to_string(*faults.hang_step));
  }
  if (!faults.bit_flips.empty()) {
    add(kBitFlips, to_text(faults.bit_flips));
  }
  add(kFaultSeed, std::to_string(faults.seed));
}

void add_generation(const GenerationOptions& generation, const Add& add) {
  add(kGeneration, std::to_string(generation.number));
  if (generation.checkpoint) {
    add(kCheckpoint, std::to_string(*generation.checkpoint));
  }
  add(kRestarts, generation.restarts ? "1" : "0");
  if (generation.failed_at) {
    add(kFailedAt, std::to_string(*generation.failed_at));
  }
  add(kCheckTime, exact(generation.check_time));
  add(kDataHash, generation.data_hash);
}

InjectedFaults faults_from(const Arguments& given) {
  InjectedFaults faults;
  faults.hang_step = given.number<std::int64_t>(kHang);
  if (const auto flips = given.text(kBitFlips)) {
    faults.bit_flips = parse_bit_flips(*flips);
  }
  faults.seed = given.number<std::uint64_t>(kFaultSeed).value_or(faults.seed);
  return faults;
}

GenerationOptions generation_from(const Arguments& given) {
  GenerationOptions generation;
  generation.number = given.number<std::int64_t>(kGeneration).value_or(generation.number);
  generation.checkpoint = given.number<std::int64_t>(kCheckpoint);
  generation.restarts = given.number<int>(kRestarts).value_or(0) != 0;
  generation.failed_at = given.number<std::int64_t>(kFailedAt);
  generation.check_time = given.number<double>(kCheckTime).value_or(generation.check_time);
  generation.data_hash = given.text(kDataHash).value_or("");
  return generation;
}

}  // namespace

std::filesystem::path whole_path(const std::filesystem::path& path) {
  namespace fs = std::filesystem;
  std::error_code unknown;
  const fs::path whole = fs::absolute(path, unknown);
  if (unknown) {
    return path;  // none at all, or the working directory is gone
  }
  const fs::path plain = whole.lexically_normal();
  const fs::path tidy = plain.has_filename() ? plain : plain.parent_path();
  return fs::equivalent(tidy, whole, unknown) ? tidy : whole;
}

std::vector<std::string> to_arguments(const RunOptions& options) {
  std::vector<std::string> arguments{kFolder, options.folder.string(), kData, options.data.string()};
  const auto add = [&](const char* name, const std::string& value) {
    arguments.emplace_back(name);
    arguments.push_back(value);
  };
  if (options.initial_weights) {
    add(kInitialWeights, options.initial_weights->string());
  }
  if (options.steps) {
    add(kSteps, std::to_string(*options.steps));
  }
  add(kDevice, std::string(to_string(options.device.kind)));
  add(kRanksPerGpu, std::to_string(options.device.ranks_per_gpu));
  add(kThreads, std::to_string(options.threads_per_rank));
  add(kTracedSteps, std::to_string(options.traced_steps));
  if (options.evaluate_every) {
    add(kEvaluateEvery, std::to_string(*options.evaluate_every));
  }
  add(kEvaluationBatches, std::to_string(options.evaluation_batches));
  if (options.peak_rate) {
    add(kPeakRate, exact(options.peak_rate->si()));
  }
  add(kSaveModel, options.save_model ? "1" : "0");
  add(kGraphs, options.graphs ? "1" : "0");
  add_faults(options.faults, add);
  add_generation(options.generation, add);
  return arguments;
}

RunOptions from_arguments(const std::vector<std::string>& arguments) {
  const Arguments given(arguments);
  RunOptions options;
  options.folder = given.required(kFolder);
  options.data = given.required(kData);
  if (const auto folder = given.text(kInitialWeights)) {
    options.initial_weights = *folder;
  }
  options.steps = given.number<std::int64_t>(kSteps);
  options.device.kind = parse_device(given.text(kDevice).value_or("cpu")).value_or(DeviceKind::kCpu);
  options.device.ranks_per_gpu = given.number<int>(kRanksPerGpu).value_or(1);
  options.threads_per_rank = given.number<int>(kThreads).value_or(options.threads_per_rank);
  options.traced_steps = given.number<int>(kTracedSteps).value_or(options.traced_steps);
  options.evaluate_every = given.number<std::int64_t>(kEvaluateEvery);
  options.evaluation_batches = given.number<std::int64_t>(kEvaluationBatches).value_or(options.evaluation_batches);
  if (const auto rate = given.number<double>(kPeakRate)) {
    options.peak_rate = from_si<FlopsPerSecond>(*rate);
  }
  options.save_model = given.number<int>(kSaveModel).value_or(1) != 0;
  options.graphs = given.number<int>(kGraphs).value_or(0) != 0;
  options.faults = faults_from(given);
  options.generation = generation_from(given);
  return options;
}

}  // namespace trainyard::executor
