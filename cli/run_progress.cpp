#include "cli/run_progress.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

namespace trainyard::cli {

namespace {

using namespace std::chrono_literals;
using nlohmann::json;

// A loss that is no number is null in the record.
std::string number_text(const json& line, const char* key, int digits) {
  const auto found = line.find(key);
  return found != line.end() && found->is_number() ? fmt::format("{:.{}f}", found->get<double>(), digits) : "nan";
}

}  // namespace

RunProgress::RunProgress(const Style& style, std::int64_t steps) : style_(style), steps_(steps), line_(style, 2s) {}

std::chrono::seconds RunProgress::left(std::int64_t done) const {
  const auto elapsed = std::chrono::steady_clock::now() - first_step_;
  // The first step's end is where the clock started.
  const std::int64_t timed = done - first_ - 1;
  return timed < 1 ? 0s : std::chrono::duration_cast<std::chrono::seconds>(elapsed * (steps_ - done) / timed);
}

void RunProgress::record(const std::string& line) {
  const json object = json::parse(line, nullptr, false);
  const std::string kind = object.is_object() ? object.value("record", "") : "";
  if (kind == "step") {
    if (done_++ == first_) {
      first_step_ = std::chrono::steady_clock::now();
    }
    std::string text = fmt::format("step {}/{}  loss {}  {} tokens/s", done_, steps_, number_text(object, "loss", 3),
                                   number_text(object, "tokens_per_second", 0));
    if (object.value("skipped", false)) {
      text += "  skipped: gradients overflowed fp16";
    }
    if (done_ > first_ + 1 && done_ < steps_) {
      text += fmt::format("  {} left", clock_text(left(done_)));
    }
    line_.show(text, done_ == first_ + 1 || done_ == steps_);
  } else if (kind == "restart") {
    done_ = first_ = object.value("step", std::int64_t{0});
  } else if (kind == "evaluation" && object.value("step", std::int64_t{0}) < steps_) {  // the last is in the summary
    line_.clear();
    fmt::print(stderr, "held-back text after {} steps: loss {} nats\n", object.value("step", 0),
               number_text(object, "loss", 3));
  }
}

void RunProgress::notice(const std::string& text) {
  line_.clear();
  fmt::print(stderr, "{}\n", text);
}

void RunProgress::message(int rank, const std::string& line) {
  line_.clear();
  fmt::print(stderr, "{} {}\n", style_.dim(fmt::format("[rank {}]", rank)), line);
}

}  // namespace trainyard::cli
