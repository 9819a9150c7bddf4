#include <fmt/format.h>

#include <string_view>

#include "core/error.h"
#include "core/layout/mesh.h"
#include "core/model/model_limits.h"
#include "core/plan/plan.h"
#include "core/plan/plan_size.h"

namespace trainyard {

namespace {

constexpr double kLargestSetting = 1e30;

// Throws with the pointer of the part at fault.
class Validator {
 public:
  explicit Validator(const std::string& where) : where_(where) {}

  void require(bool holds, std::string_view pointer, const std::string& what, const std::string& hint = {}) const {
    if (!holds) {
      throw Error(what, fmt::format("{}#{}", where_, pointer), hint);
    }
  }
  void positive(std::int64_t value, std::string_view pointer) const {
    require(value >= 1, pointer, fmt::format("is {}", value), "must be at least 1");
  }
  void in_range(std::int64_t value, std::int64_t most, std::string_view pointer) const {
    require(value >= 1 && value <= most, pointer, fmt::format("is {}", value), fmt::format("must be 1 to {}", most));
  }
  void within(double value, double lowest, double highest, std::string_view pointer) const {
    require(value >= lowest && value <= highest, pointer, fmt::format("is {}", value),
            fmt::format("must be from {} to {}", lowest, highest));
  }
  // The kernels compute in single precision.
  void above_zero(double value, std::string_view pointer) const {
    require(value > 0.0 && value <= kLargestSetting, pointer, fmt::format("is {}", value),
            fmt::format("must be above 0, at most {}", kLargestSetting));
  }
  void divides(std::int64_t divisor, std::int64_t number, std::string_view pointer, std::string_view of) const {
    require(number % divisor == 0, pointer, fmt::format("{} does not divide {} {}", divisor, number, of),
            "choose a divisor");
  }
  const std::string& where() const { return where_; }

 private:
  const std::string& where_;
};

void validate_model(const ModelSpec& model, const Validator& v) {
  v.in_range(model.layers, kMostLayers, "/model/layers");
  v.in_range(model.hidden, kMostHidden, "/model/hidden");
  v.in_range(model.feed_forward, kMostFeedForward, "/model/feed_forward");
  v.in_range(model.heads, kMostHeads, "/model/heads");
  v.in_range(model.key_value_heads, kMostHeads, "/model/key_value_heads");
  v.divides(model.key_value_heads, model.heads, "/model/key_value_heads", "heads");
  v.in_range(model.head_size, kMostHeadSize, "/model/head_size");
  v.require(model.head_size % 2 == 0, "/model/head_size", "is odd", "rotary positions turn pairs");
  v.in_range(model.vocabulary, kMostVocabulary, "/model/vocabulary");
  v.in_range(model.positions, kMostPositions, "/model/positions");
}

void validate_training(const Plan& plan, const Validator& v) {
  const Training& training = plan.training;
  v.positive(training.sequence, "/training/sequence");
  v.require(training.sequence <= plan.model.positions, "/training/sequence",
            fmt::format("{} tokens are more than the model's {} positions", training.sequence, plan.model.positions),
            "shorten the sequence");
  v.positive(training.global_batch, "/training/global_batch");
  v.positive(training.steps, "/training/steps");
  v.require(training.warmup_steps >= 0, "/training/warmup_steps", "is negative");
  v.above_zero(training.learning_rate, "/training/learning_rate");
  v.within(training.minimum_rate_ratio, 0.0, 1.0, "/training/minimum_rate_ratio");
  v.require(training.beta1 >= 0.0 && training.beta1 < 1.0, "/training/beta1", "is not in [0, 1)");
  v.require(training.beta2 >= 0.0 && training.beta2 < 1.0, "/training/beta2", "is not in [0, 1)");
  v.require(training.momentum >= 0.0 && training.momentum < 1.0, "/training/momentum", "is not in [0, 1)");
  v.above_zero(training.epsilon, "/training/epsilon");
  v.within(training.weight_decay, 0.0, kLargestSetting, "/training/weight_decay");
  v.require(!training.clip_norm || (*training.clip_norm > 0.0 && *training.clip_norm <= kLargestSetting),
            "/training/clip_norm", fmt::format("is {}", training.clip_norm.value_or(0.0)),
            fmt::format("must be above 0, at most {}; null turns clipping off", kLargestSetting));
  v.above_zero(training.initial_std, "/training/initial_std");
}

void validate_degrees(const Layout& layout, const Validator& v) {
  v.in_range(layout.tensor, kMostRanks, "/layout/tensor");
  v.in_range(layout.pipeline, kMostRanks, "/layout/pipeline");
  v.in_range(layout.data, kMostRanks, "/layout/data");
  v.in_range(layout.context, kMostRanks, "/layout/context");
  v.in_range(layout.expert, kMostRanks, "/layout/expert");
  v.in_range(layout.expert_tensor, kMostRanks, "/layout/expert_tensor");
  v.in_range(layout.chunks_per_stage, kMostRanks, "/layout/chunks_per_stage");
  v.positive(layout.micro_batch, "/layout/micro_batch");
  v.positive(layout.accumulation, "/layout/accumulation");
  v.within(layout.zero_stage, 0, 3, "/layout/zero_stage");
  v.positive(layout.bucket_bytes.value(), "/layout/bucket");
}

void validate_size(const Plan& plan, const Validator& v) {
  if (const auto over = oversize(plan.model, plan.training, plan.layout)) {
    v.require(false, over->pointer, over->problem, over->hint);
  }
}

void validate_schedule(const Layout& layout, const Validator& v) {
  const bool interleaved = layout.schedule == ScheduleKind::kInterleaved;
  v.require(layout.chunks_per_stage == 1 || interleaved, "/layout/chunks_per_stage",
            fmt::format("{} chunks per stage need the interleaved schedule", layout.chunks_per_stage),
            "set schedule to \"interleaved\", or chunks_per_stage to 1");
  v.require(!interleaved || layout.chunks_per_stage > 1, "/layout/schedule",
            "the interleaved schedule needs more than one chunk per stage", "use \"1f1b\"");
  if (interleaved) {
    v.divides(layout.pipeline, layout.accumulation, "/layout/pipeline", "micro-batches (interleaved schedule)");
  }
}

// The mesh knows the rule for the rank order and for expert degrees.
void validate_mesh(const Layout& layout, const Validator& v) {
  try {
    const Mesh mesh(layout);
  } catch (const Error& error) {
    throw Error(error.problem(), v.where() + "#/layout", error.hint());
  }
}

void validate_fit(const Plan& plan, const Validator& v) {
  const Layout& layout = plan.layout;
  const ModelSpec& model = plan.model;
  v.divides(layout.tensor, model.heads, "/layout/tensor", "heads");
  v.divides(layout.tensor, model.key_value_heads, "/layout/tensor", "key and value heads");
  v.require(layout.tensor <= model.feed_forward && layout.tensor <= model.vocabulary, "/layout/tensor",
            "is more than the feed-forward rows or the vocabulary");
  if (layout.sequence_parallel) {
    v.divides(layout.tensor, layout.micro_batch * plan.training.sequence, "/layout/tensor",
              "tokens of a micro-batch (sequence parallelism)");
  }
  v.divides(layout.context, plan.training.sequence, "/layout/context", "tokens of a sequence");
  const std::int64_t chunks = std::int64_t{layout.pipeline} * layout.chunks_per_stage;
  v.require(chunks <= model.layers, "/layout/pipeline",
            fmt::format("{} pipeline chunks are more than the model's {} layers", chunks, model.layers),
            "use fewer stages");
  v.require(layout.sequences_per_step() == plan.training.global_batch, "/layout/accumulation",
            fmt::format("micro_batch {} x accumulation {} x data {} = {} sequences a step, not global_batch {}",
                        layout.micro_batch, layout.accumulation, layout.data, layout.sequences_per_step(),
                        plan.training.global_batch),
            "change one of them");
}

}  // namespace

void validate(const Plan& plan, const std::string& where) {
  const Validator v(where);
  validate_model(plan.model, v);
  validate_training(plan, v);
  validate_degrees(plan.layout, v);
  validate_size(plan, v);
  validate_schedule(plan.layout, v);
  validate_mesh(plan.layout, v);
  validate_fit(plan, v);
  v.in_range(plan.cluster.ranks_per_node, kMostRanks, "/cluster/ranks_per_node");
  v.require(!plan.checkpoint.every_steps || *plan.checkpoint.every_steps >= 1, "/checkpoint/every_steps",
            "is not above 0", "null writes the final weights only");
}

}  // namespace trainyard
