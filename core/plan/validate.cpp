#include <string>
#include <vector>

#include "core/error.h"
#include "core/plan/plan.h"

namespace trainyard {

namespace {

void require(bool holds, const std::string& what, const std::string& where, const std::string& hint = {}) {
  if (!holds) {
    throw Error(what, where, hint);
  }
}

std::string number(std::int64_t value) { return std::to_string(value); }

void validate_degrees(const Layout& layout, const std::string& where) {
  const std::vector<std::pair<const char*, std::int64_t>> positive{{"tensor", layout.tensor},
                                                                   {"pipeline", layout.pipeline},
                                                                   {"data", layout.data},
                                                                   {"context", layout.context},
                                                                   {"expert", layout.expert},
                                                                   {"expert_tensor", layout.expert_tensor},
                                                                   {"chunks_per_stage", layout.chunks_per_stage},
                                                                   {"micro_batch", layout.micro_batch},
                                                                   {"accumulation", layout.accumulation},
                                                                   {"bucket_bytes", layout.bucket_bytes.value()}};
  for (const auto& [name, value] : positive) {
    require(value >= 1, "must be at least 1, is " + number(value), where + "/layout/" + name);
  }
  require(layout.zero_stage >= 0 && layout.zero_stage <= 3, "must be 0, 1, 2 or 3", where + "/layout/zero_stage");
}

void validate_tensor(const Plan& plan, const std::string& where) {
  const Layout& layout = plan.layout;
  const ModelSpec& model = plan.model;
  const std::string at = where + "/layout/tensor";
  require(
      model.key_value_heads % layout.tensor == 0,
      number(model.key_value_heads) + " key-value heads don't divide over " + number(layout.tensor) + " tensor ranks",
      at, "use a divisor of the key-value heads");
  require(model.heads % layout.tensor == 0,
          number(model.heads) + " heads don't divide over " + number(layout.tensor) + " tensor ranks", at);
  require(layout.tensor <= model.feed_forward && layout.tensor <= model.vocabulary,
          "more tensor ranks than columns to cut", at);
  if (layout.sequence_parallel) {
    const std::int64_t tokens = layout.micro_batch * plan.training.sequence;
    require(tokens % layout.tensor == 0,
            number(tokens) + " tokens of a micro-batch don't divide over " + number(layout.tensor) + " tensor ranks",
            where + "/layout/sequence_parallel");
  }
}

}  // namespace

void validate(const Plan& plan, const std::string& where) {
  const Layout& layout = plan.layout;
  validate_degrees(layout, where);
  validate_tensor(plan, where);
  const std::int64_t chunks = std::int64_t{layout.pipeline} * layout.chunks_per_stage;
  require(chunks <= plan.model.layers, number(chunks) + " pipeline chunks for " + number(plan.model.layers) + " layers",
          where + "/layout/pipeline");
  require((layout.schedule == ScheduleKind::kInterleaved) == (layout.chunks_per_stage > 1),
          "chunks_per_stage above 1 and the interleaved schedule belong together", where + "/layout/schedule");
  require(plan.training.sequence >= 1, "must be at least 1", where + "/training/sequence");
  require(plan.training.sequence <= plan.model.positions,
          number(plan.training.sequence) + " tokens exceed the model's " + number(plan.model.positions) + " positions",
          where + "/training/sequence");
  require(layout.sequences_per_step() == plan.training.global_batch,
          "micro_batch x accumulation x data = " + number(layout.sequences_per_step()) +
              " is not the global batch of " + number(plan.training.global_batch),
          where + "/training/global_batch");
}

}  // namespace trainyard
