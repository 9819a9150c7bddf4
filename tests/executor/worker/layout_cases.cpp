#include "tests/executor/worker/layout_cases.h"

#include <algorithm>
#include <cctype>

#include "tests/support/gpt2_fields.h"

namespace trainyard::executor {

namespace {

constexpr std::int64_t kGlobalBatch = 8;

std::vector<Layout> with_switches(const Layout& degrees) {
  std::vector<Layout> layouts;
  const std::vector<bool> both{false, true};
  const std::vector<bool> data_only = degrees.data > 1 ? both : std::vector<bool>{false};
  for (const std::int64_t micro_batch : {1, 2}) {
    for (const bool gpipe : degrees.pipeline > 1 ? both : std::vector<bool>{false}) {
      for (const bool zero : data_only) {
        for (const bool strict : data_only) {
          for (const bool exposed : data_only) {
            Layout layout = degrees;
            layout.micro_batch = micro_batch;
            layout.accumulation = kGlobalBatch / (micro_batch * layout.data);
            layout.schedule = gpipe ? ScheduleKind::kGpipe : ScheduleKind::k1f1b;
            layout.zero_stage = zero ? 1 : 0;
            layout.strict_reduction = strict;
            layout.overlap_gradient_reduce = !exposed;
            layouts.push_back(layout);
          }
        }
      }
    }
  }
  return layouts;
}

}  // namespace

Plan small_plan(const Layout& layout, OptimizerKind optimizer) {
  Plan plan;
  plan.model.name = "small";
  plan.model.layers = 4;
  plan.model.hidden = 64;
  plan.model.feed_forward = 176;
  plan.model.heads = 4;
  plan.model.key_value_heads = std::max(2, layout.tensor);
  plan.model.head_size = 16;
  plan.model.vocabulary = 259;
  plan.model.positions = 64;
  plan.cluster = {.name = "threads", .ranks_per_node = layout.ranks(), .device = "cpu"};
  plan.layout = layout;
  plan.training.sequence = 32;
  plan.training.global_batch = kGlobalBatch;
  plan.training.steps = 20;
  plan.training.seed = 11;
  plan.training.optimizer = optimizer;
  plan.training.learning_rate = optimizer == OptimizerKind::kAdamW ? 1e-3 : 0.1;
  plan.training.momentum = optimizer == OptimizerKind::kAdamW ? 0.0 : 0.9;
  return plan;
}

ModelSpec small_gpt2(bool tied) {
  ModelSpec model;
  model.name = "small-gpt2";
  model.layers = 4;
  model.hidden = 64;
  model.feed_forward = 256;
  model.heads = model.key_value_heads = 4;
  model.head_size = 16;
  model.vocabulary = 259;
  model.positions = 48;  // more than the sequences have
  testing::set_gpt2_fields(model);
  model.tied_embeddings = tied;
  return model;
}

Layout layout_of_degrees(int tensor, int pipeline, int data) {
  Layout layout;
  layout.tensor = tensor;
  layout.pipeline = pipeline;
  layout.data = data;
  layout.zero_stage = data > 1 ? 1 : 0;
  layout.accumulation = kGlobalBatch / data;
  return layout;
}

Layout bf16_layout() {
  Layout layout;
  layout.compute_type = DataType::kBf16;
  layout.parameter_type = DataType::kBf16;
  layout.communication_type = DataType::kBf16;
  return layout;
}

Layout fp16_layout() {
  Layout layout;
  layout.compute_type = DataType::kFp16;
  layout.parameter_type = DataType::kFp16;
  layout.communication_type = DataType::kFp16;
  return layout;
}

Plan reference_plan(const Plan& plan) {
  Plan reference = plan;
  reference.layout = Layout{};
  reference.layout.accumulation = plan.training.global_batch;
  reference.cluster.ranks_per_node = 1;
  return reference;
}

std::vector<Layout> all_layouts() {
  std::vector<Layout> layouts;
  const auto add = [&](const Layout& layout) { layouts.push_back(layout); };
  for (const int ranks : {1, 2, 4}) {
    for (int tensor = 1; tensor <= ranks; tensor *= 2) {
      for (int pipeline = 1; tensor * pipeline <= ranks; pipeline *= 2) {
        Layout degrees;
        degrees.tensor = tensor;
        degrees.pipeline = pipeline;
        degrees.data = ranks / (tensor * pipeline);
        degrees.bucket_bytes = ByteCount(1);  // each layer its own
        for (const Layout& layout : with_switches(degrees)) {
          add(layout);
        }
        Layout recomputing = degrees;
        recomputing.accumulation = kGlobalBatch / degrees.data;
        recomputing.recompute = Recompute::kFull;
        add(recomputing);
        Layout one_bucket = degrees;
        one_bucket.accumulation = kGlobalBatch / degrees.data;
        one_bucket.bucket_bytes = Layout{}.bucket_bytes;
        one_bucket.zero_stage = degrees.data > 1 ? 1 : 0;
        add(one_bucket);
      }
    }
  }
  return layouts;
}

std::string test_name(const Layout& layout) {
  std::string name = describe(layout);
  std::replace_if(
      name.begin(), name.end(), [](char letter) { return std::isalnum(static_cast<unsigned char>(letter)) == 0; }, '_');
  return name;
}

}  // namespace trainyard::executor
