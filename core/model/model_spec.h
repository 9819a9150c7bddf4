// ModelSpec: the shape of the neural network, from a Hugging Face config.json.
//
// A decoder-only transformer: embedding, `layers` blocks of attention and feed-forward with residuals, a final
// norm, a head. What differs between families is data here, not code elsewhere:
//   attention     heads, grouped keys and values (Ainslie et al. 2023), latent (DeepSeek-V2, section 2.1),
//                 a sliding window on some layers
//   feed-forward  gated or plain, dense or a mixture of experts (some layers dense, shared experts)
//   the rest      norms with or without shift, biases, positions, tied embeddings, multi-token prediction
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace trainyard {

// Which of Hugging Face's model types; what follows from it is in the fields below.
enum class ModelFamily : std::uint8_t {
  kLlama,
  kMistral,
  kMixtral,
  kQwen2,
  kQwen3,
  kQwen3Moe,
  kPhi3,
  kDeepseekV2,
  kDeepseekV3,
  kGptOss,
  kNemotron,
  kFalcon,
  kBloom,
  kOpt,
  kGpt2,
};

std::string_view to_string(ModelFamily family);  // Hugging Face's model_type: "llama", "qwen3_moe", ...

enum class RopeScalingKind : std::uint8_t {
  kLlama3,   // Llama 3.1: by wavelength
  kLinear,   // Chen et al. 2023: all frequencies by the factor
  kDynamic,  // a larger base for longer sequences
  kYarn,     // Peng et al. 2023: by wavelength, and a temperature
};
std::string_view to_string(RopeScalingKind kind);  // "llama3", "linear", ...

// Stretching of rotary frequencies to sequences longer than the original ones.
struct RopeScaling {
  double factor = 1.0;
  double low_frequency_factor = 1.0;   // llama3
  double high_frequency_factor = 4.0;  // llama3
  std::int64_t original_positions = 8192;
  RopeScalingKind kind = RopeScalingKind::kLlama3;
  double beta_fast = 32.0;  // yarn
  double beta_slow = 1.0;   // yarn
  friend bool operator==(const RopeScaling&, const RopeScaling&) = default;
};

enum class Normalization : std::uint8_t {
  kRms,    // scale
  kLayer,  // scale and shift
};
std::string_view to_string(Normalization normalization);  // "rms", "layer"

enum class Activation : std::uint8_t {
  kSilu,
  kGelu,      // x Phi(x), by the error function
  kGeluTanh,  // its approximation by tanh, GPT-2's (Hendrycks and Gimpel 2016)
  kRelu,
  kSquaredRelu
};
std::string_view to_string(Activation activation);  // as Hugging Face: "silu", "gelu", "gelu_new", "relu", "relu2"

enum class PositionEncoding : std::uint8_t { kRotary, kLearned, kAlibi };
std::string_view to_string(PositionEncoding encoding);  // "rotary", "learned", "alibi"

// Keys and values from a low-rank latent (DeepSeek-V2, Liu et al. 2024, equations 9 to 19). head_size of the model
// is no_rope_size + rope_size, of queries and keys; values have value_head_size.
struct LatentAttention {
  std::optional<std::int64_t> query_rank;  // none: queries straight from the hidden state
  std::int64_t key_value_rank = 0;
  std::int64_t no_rope_size = 0;
  std::int64_t rope_size = 0;  // one key of this size shared by all heads
  friend bool operator==(const LatentAttention&, const LatentAttention&) = default;
};

// A feed-forward of experts of which each token visits a few (Shazeer et al. 2017; Fedus et al. 2021).
struct MixtureOfExperts {
  std::int64_t experts = 0;
  std::int64_t experts_per_token = 0;    // top-k
  std::int64_t expert_feed_forward = 0;  // width of one
  std::int64_t shared_experts = 0;       // that every token visits, of the same width
  std::int64_t first_dense_layers = 0;   // with the model's own feed_forward
  std::int64_t every = 1;                // of the layers after those, one in so many has experts
  // Tokens beyond factor x tokens x top-k / experts are dropped; none: dropless.
  std::optional<double> capacity_factor;
  // The busiest expert's tokens over the mean; 1: balanced. Of a training run, not of the config.
  double imbalance = 1.0;
  // A token's experts come from so many of these groups only, which bounds the nodes it is sent to (DeepSeek-V3,
  // section 2.1.2). 1 and 1: from anywhere.
  std::int64_t groups = 1;
  std::int64_t groups_per_token = 1;
  bool router_bias = false;
  bool expert_bias = false;
  friend bool operator==(const MixtureOfExperts&, const MixtureOfExperts&) = default;
};

// Attention to the last `window` tokens only. Layer i sees everything where (i + 1) % full_every == 0;
// full_every 0: no layer does.
struct SlidingWindow {
  std::int64_t window = 0;
  std::int64_t full_every = 0;
  friend bool operator==(const SlidingWindow&, const SlidingWindow&) = default;
};

struct ModelSpec {
  std::string name;
  ModelFamily family = ModelFamily::kLlama;
  std::int64_t layers = 0;  // without multi-token ones
  std::int64_t hidden = 0;
  std::int64_t feed_forward = 0;  // of dense layers
  std::int64_t heads = 0;
  std::int64_t key_value_heads = 0;
  std::int64_t head_size = 0;  // of queries and keys; of values unless value_head_size says otherwise
  std::int64_t vocabulary = 0;
  std::int64_t positions = 0;  // max_position_embeddings
  double norm_epsilon = 1e-5;
  double rope_theta = 10000.0;
  std::optional<RopeScaling> rope_scaling;
  double rotary_fraction = 1.0;  // of a head's elements that positions turn
  bool tied_embeddings = false;

  Normalization normalization = Normalization::kRms;
  Activation activation = Activation::kSilu;
  bool gated_feed_forward = true;  // activation(gate x) * (up x); plain: activation(up x)
  PositionEncoding position_encoding = PositionEncoding::kRotary;
  std::optional<std::int64_t> value_head_size;
  std::optional<LatentAttention> latent_attention;
  std::optional<MixtureOfExperts> experts;
  std::optional<SlidingWindow> sliding_window;
  std::int64_t multi_token_layers = 0;  // extra blocks that predict further tokens (DeepSeek-V3, section 2.2)
  bool query_key_value_bias = false;
  bool output_bias = false;  // of attention's output product
  bool feed_forward_bias = false;
  bool query_key_norm = false;     // a norm of head_size on queries and on keys
  bool attention_sinks = false;    // a learned logit per head (GPT-OSS)
  bool parallel_branches = false;  // attention and feed-forward side by side (Falcon)
  bool shared_norm = false;        // and behind one norm
  bool embedding_norm = false;     // a norm after the embedding (BLOOM)
  friend bool operator==(const ModelSpec&, const ModelSpec&) = default;
};

// Whether layer i (0 .. layers - 1) has experts, and whether it sees all earlier tokens.
bool has_experts(const ModelSpec& model, std::int64_t layer);
bool full_attention(const ModelSpec& model, std::int64_t layer);

std::int64_t value_head_size(const ModelSpec& model);

// Rows of the table of learned positions: OPT keeps two more than there are positions.
std::int64_t position_rows(const ModelSpec& model);

// What a model has that a Llama block hasn't (RMS norm, gated silu, rotary positions, grouped attention to all earlier
// tokens, no biases), in words that complete "there is no ..."; nothing for a Llama block. Our own kernels and the
// segments of a program are of that block.
std::optional<std::string> beyond_llama_block(const ModelSpec& model);
bool is_llama_block(const ModelSpec& model);
// GPT-2's block: layer norm, GELU by tanh, biases, learned positions, weights stored [inputs, outputs].
bool is_gpt2_block(const ModelSpec& model);

}  // namespace trainyard
