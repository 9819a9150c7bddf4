// ModelSpec: the shape of the neural network, from a Hugging Face config.json.
//
// Llama family (Touvron et al. 2023; Grattafiori et al. 2024): RMSNorm before attention and before a SwiGLU
// feed-forward, rotary positions, grouped-query attention, no biases, optional tied embeddings.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace trainyard {

enum class ModelFamily : std::uint8_t { kLlama };

// Llama 3.1's stretching of rotary frequencies ("rope_type": "llama3").
struct RopeScaling {
  double factor = 1.0;
  double low_frequency_factor = 1.0;
  double high_frequency_factor = 4.0;
  std::int64_t original_positions = 8192;
  friend bool operator==(const RopeScaling&, const RopeScaling&) = default;
};

struct ModelSpec {
  std::string name;
  ModelFamily family = ModelFamily::kLlama;
  std::int64_t layers = 0;
  std::int64_t hidden = 0;
  std::int64_t feed_forward = 0;
  std::int64_t heads = 0;
  std::int64_t key_value_heads = 0;
  std::int64_t head_size = 0;
  std::int64_t vocabulary = 0;
  std::int64_t positions = 0;  // max_position_embeddings
  double norm_epsilon = 1e-5;
  double rope_theta = 10000.0;
  std::optional<RopeScaling> rope_scaling;
  bool tied_embeddings = false;
  friend bool operator==(const ModelSpec&, const ModelSpec&) = default;
};

}  // namespace trainyard
