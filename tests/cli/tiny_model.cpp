#include "tests/cli/tiny_model.h"

#include <array>
#include <cstdint>

namespace trainyard::cli {

std::string tiny_model_config() {
  return R"({
  "architectures": ["LlamaForCausalLM"],
  "model_type": "llama",
  "hidden_size": 64,
  "intermediate_size": 128,
  "num_hidden_layers": 2,
  "num_attention_heads": 4,
  "num_key_value_heads": 2,
  "vocab_size": 256,
  "max_position_embeddings": 128,
  "rms_norm_eps": 1e-5,
  "rope_theta": 10000.0,
  "hidden_act": "silu",
  "tie_word_embeddings": false
})";
}

std::string tiny_text() {
  constexpr std::array kWords = {"in", "the", "beginning", "was", "word", "and", "light", "shone", "upon", "waters"};
  std::string text;
  std::uint64_t state = 1;
  while (text.size() < 200'000) {
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;  // Knuth's MMIX generator
    text += kWords[(state >> 33U) % kWords.size()];
    text += (state >> 60U) == 0 ? ".\n" : " ";
  }
  return text;
}

}  // namespace trainyard::cli
