// A Llama small enough that two ranks train it in milliseconds a step, and text to train it on.
#pragma once

#include <string>

namespace trainyard::cli {

// Hugging Face config.json: 2 layers, 64 wide, byte vocabulary.
std::string tiny_model_config();

// About 200 kB of words, the same each time.
std::string tiny_text();

}  // namespace trainyard::cli
