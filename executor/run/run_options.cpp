#include "executor/run/run_options.h"

#include <array>
#include <charconv>
#include <map>

#include "core/error.h"

namespace trainyard::executor {

namespace {

constexpr const char* kFolder = "--folder";
constexpr const char* kData = "--data";
constexpr const char* kInitialWeights = "--init";
constexpr const char* kSteps = "--steps";
constexpr const char* kThreads = "--threads";
constexpr const char* kTracedSteps = "--traced-steps";
constexpr const char* kEvaluateEvery = "--evaluate-every";
constexpr const char* kEvaluationBatches = "--evaluation-batches";
constexpr const char* kPeakRate = "--peak-flops-per-s";
constexpr const char* kSaveModel = "--save-model";

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

}  // namespace

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
  options.threads_per_rank = given.number<int>(kThreads).value_or(options.threads_per_rank);
  options.traced_steps = given.number<int>(kTracedSteps).value_or(options.traced_steps);
  options.evaluate_every = given.number<std::int64_t>(kEvaluateEvery);
  options.evaluation_batches = given.number<std::int64_t>(kEvaluationBatches).value_or(options.evaluation_batches);
  if (const auto rate = given.number<double>(kPeakRate)) {
    options.peak_rate = from_si<FlopsPerSecond>(*rate);
  }
  options.save_model = given.number<int>(kSaveModel).value_or(1) != 0;
  return options;
}

}  // namespace trainyard::executor
