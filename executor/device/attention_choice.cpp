#include "executor/device/attention_choice.h"

#include <cstdlib>

#include "core/error.h"

namespace trainyard::executor {

AttentionChoice parse_attention_choice(std::string_view text) {
  if (text == "auto") {
    return AttentionChoice::kAuto;
  }
  if (text == "own") {
    return AttentionChoice::kOwn;
  }
  if (text == "cudnn") {
    return AttentionChoice::kCudnn;
  }
  throw Error("'" + std::string(text) + "' is no choice of attention", kAttentionVariable, "set auto, own or cudnn");
}

AttentionChoice attention_choice(std::optional<AttentionChoice> given) {
  if (given) {
    return *given;
  }
  const char* set = std::getenv(kAttentionVariable);
  return set == nullptr || *set == '\0' ? AttentionChoice::kAuto : parse_attention_choice(set);
}

bool wants_cudnn(AttentionChoice choice, const std::string& problem) {
  if (choice == AttentionChoice::kCudnn && !problem.empty()) {
    throw Error(problem, std::string(kAttentionVariable) + "=cudnn",
                "`trainyard doctor` says what is there; auto or own runs without");
  }
  return choice != AttentionChoice::kOwn && problem.empty();
}

}  // namespace trainyard::executor
