// Whose kernels a GPU's attention is: ours, or cuDNN's where it is there and takes the shape.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace trainyard::executor {

enum class AttentionChoice : std::uint8_t {
  kAuto,   // cuDNN's where it can be opened
  kOwn,    // ours alone
  kCudnn,  // as kAuto, but an error where cuDNN can't be opened; and says which shapes it doesn't take
};

constexpr const char* kAttentionVariable = "TRAINYARD_ATTENTION";

// "auto", "own", "cudnn"; throws Error naming the variable.
AttentionChoice parse_attention_choice(std::string_view text);

// What is given, otherwise the environment's, otherwise kAuto.
AttentionChoice attention_choice(std::optional<AttentionChoice> given);

// Whether cuDNN's attention is to be made. problem: why it can't be, empty where it can; throws Error with it for
// kCudnn.
bool wants_cudnn(AttentionChoice choice, const std::string& problem);

}  // namespace trainyard::executor
