// Writes what the Python peers compare themselves with. Usage: peer_dump FOLDER. For each case FOLDER/CASE has
//
//   model/                  the initial weights, as transformers loads them
//   tokens.safetensors      inputs, targets [steps, sequences, sequence], as fp32 numbers
//   logits.safetensors      of the first step's inputs
//   gradients.safetensors   of the first step, before clipping
//   updated.safetensors     parameters after all steps
//   training.json           hyperparameters; losses, gradient norms and learning rates by step
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "core/document/write_file.h"
#include "core/random/normal.h"
#include "core/random/philox.h"
#include "executor/checkpoint/safetensors_file.h"
#include "executor/checkpoint/save_model.h"
#include "executor/communicator/gloo_communicator.h"
#include "executor/device/cpu_device.h"
#include "executor/worker/weight_initializer.h"
#include "executor/worker/worker.h"
#include "tests/executor/communicator/memory_store.h"

namespace trainyard::executor {

namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kSteps = 5;
constexpr std::int64_t kSequences = 3;
constexpr std::int64_t kSequence = 96;  // more than one attention tile

struct Case {
  std::string name;
  ModelSpec model;
};

ModelSpec base_model() {
  ModelSpec model;
  model.name = "peer";
  model.layers = 3;
  model.hidden = 96;
  model.feed_forward = 200;
  model.heads = 6;
  model.key_value_heads = 2;
  model.head_size = 16;
  model.vocabulary = 307;
  model.positions = 128;
  return model;
}

std::vector<Case> cases() {
  std::vector<Case> all{{"grouped_query", base_model()}};
  ModelSpec tied = base_model();
  tied.tied_embeddings = true;
  tied.key_value_heads = tied.heads;
  all.push_back({"tied_multi_head", tied});
  ModelSpec stretched = base_model();
  stretched.rope_theta = 500000.0;
  // Wavelengths of the 8 frequencies run from 6.3 to 6e5: with 64 positions all three bands occur.
  stretched.rope_scaling = RopeScaling{.factor = 8.0, .original_positions = 64};
  stretched.norm_epsilon = 1e-6;
  all.push_back({"stretched_rope", stretched});
  ModelSpec gpt2 = base_model();
  gpt2.family = ModelFamily::kGpt2;
  gpt2.key_value_heads = gpt2.heads;
  gpt2.normalization = Normalization::kLayer;
  gpt2.activation = Activation::kGeluTanh;
  gpt2.gated_feed_forward = false;
  gpt2.position_encoding = PositionEncoding::kLearned;
  gpt2.query_key_value_bias = gpt2.output_bias = gpt2.feed_forward_bias = true;
  gpt2.tied_embeddings = true;
  all.push_back({"gpt2", gpt2});
  return all;
}

Plan plan_for(const ModelSpec& model) {
  Plan plan;
  plan.model = model;
  plan.cluster = {.name = "this machine", .ranks_per_node = 1, .device = "cpu"};
  plan.layout.micro_batch = kSequences;
  plan.training.sequence = kSequence;
  plan.training.global_batch = kSequences;
  plan.training.steps = kSteps;
  plan.training.seed = 3;
  plan.training.learning_rate = 1e-3;
  plan.training.warmup_steps = 2;
  plan.training.initial_std = 0.08;  // logits away from zero
  return plan;
}

// Norm weights away from 1 and biases from 0, so that a forgotten one shows.
WeightSource weights(const Plan& plan) {
  const WeightSource plain = random_weights(plan.model, plan.training);
  return [plain](const Parameter& parameter, std::span<const IndexRange> ranges, std::span<float> values) {
    plain(parameter, ranges, values);
    if (parameter.shape.size() == 1) {
      fill_normal(values, 5, stream_key(parameter.name), 0, 0.2F);
      const float middle = parameter.part == ParameterPart::kBias ? 0.0F : 1.0F;
      std::transform(values.begin(), values.end(), values.begin(), [=](float value) { return middle + value; });
    }
  };
}

StepTokens random_tokens(const Plan& plan, std::int64_t step) {
  StepTokens tokens;
  const auto vocabulary = static_cast<std::uint64_t>(plan.model.vocabulary);
  for (std::uint64_t i = 0; i < static_cast<std::uint64_t>(kSequences * kSequence); ++i) {
    const auto draw = [&](std::uint64_t stream) {
      const auto seed = static_cast<std::uint64_t>(step);
      return static_cast<std::int32_t>(random_below(seed, stream, i, vocabulary));
    };
    tokens.inputs.push_back(draw(0));
    tokens.targets.push_back(draw(1));
  }
  return tokens;
}

struct NamedTensor {
  NamedShape at;
  std::vector<float> values;
};

void write_tensors(const fs::path& file, const std::vector<NamedTensor>& tensors) {
  std::vector<NamedShape> shapes;
  for (const NamedTensor& tensor : tensors) {
    shapes.push_back(tensor.at);
  }
  create_safetensors(file, place_back_to_back(shapes));
  SafetensorsWriter writer(file);
  for (const NamedTensor& tensor : tensors) {
    std::vector<IndexRange> whole;
    for (const std::int64_t size : tensor.at.shape) {
      whole.push_back({0, size});
    }
    writer.write(tensor.at.name, whole, tensor.values);
  }
}

std::vector<NamedTensor> named(const std::vector<TensorSlice>& slices) {
  std::vector<NamedTensor> tensors;
  for (const TensorSlice& slice : slices) {
    tensors.push_back({{slice.parameter.name, slice.parameter.shape}, slice.values});
  }
  return tensors;
}

void dump(const Case& one, const fs::path& folder) {
  const Plan plan = plan_for(one.model);
  MemoryStore store;
  const auto device = make_cpu_device({.threads = 2});
  const auto communicator = make_gloo_communicator(*device, store, Rank(0), 1, {});
  Worker worker(plan, *device, *communicator);
  worker.set_parameters(weights(plan));
  save_model(worker, *communicator, folder / "model");

  worker.evaluate(random_tokens(plan, 0));
  const std::int64_t rows = kSequences * kSequence;
  write_tensors(folder / "logits.safetensors",
                {{{"logits", {rows, plan.model.vocabulary}}, worker.evaluated_logits()}});

  NamedTensor inputs{{"inputs", {kSteps, rows}}, {}};
  NamedTensor targets{{"targets", {kSteps, rows}}, {}};
  nlohmann::json training{{"beta1", plan.training.beta1},
                          {"beta2", plan.training.beta2},
                          {"epsilon", plan.training.epsilon},
                          {"weight_decay", plan.training.weight_decay},
                          {"clip_norm", plan.training.clip_norm.value()},
                          {"sequences", kSequences}};
  for (std::int64_t step = 0; step < kSteps; ++step) {
    const StepTokens tokens = random_tokens(plan, step);
    inputs.values.insert(inputs.values.end(), tokens.inputs.begin(), tokens.inputs.end());
    targets.values.insert(targets.values.end(), tokens.targets.begin(), tokens.targets.end());
    const StepResult result = worker.train(step, tokens);
    training["losses"].push_back(result.loss);
    training["gradient_norms"].push_back(result.gradient_norm);
    training["learning_rates"].push_back(result.learning_rate);
    if (step == 0) {
      write_tensors(folder / "gradients.safetensors", named(worker.gradients()));
    }
  }
  write_tensors(folder / "updated.safetensors", named(worker.parameters()));
  write_tensors(folder / "tokens.safetensors", {inputs, targets});
  write_file(folder / "training.json", training.dump(1));
}

}  // namespace

}  // namespace trainyard::executor

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fputs("usage: peer_dump FOLDER\n", stderr);
    return 2;
  }
  try {
    for (const auto& one : trainyard::executor::cases()) {
      trainyard::executor::dump(one, std::filesystem::path(argv[1]) / one.name);
    }
  } catch (const std::exception& failure) {
    std::fprintf(stderr, "peer_dump: %s\n", failure.what());
    return 1;
  }
  return 0;
}
