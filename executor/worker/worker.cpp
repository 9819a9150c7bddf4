#include "executor/worker/worker.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <utility>

#include "core/error.h"
#include "core/program/norm_sum.h"
#include "executor/worker/device_constants.h"
#include "executor/worker/float_transfer.h"
#include "executor/worker/interpreter.h"
#include "executor/worker/rank_memory.h"

namespace trainyard::executor {

struct Worker::Bound {
  std::vector<std::byte*> addresses;
  Interpreter interpreter;
  // Null where the role has none.
  std::byte* inputs = nullptr;
  std::byte* targets = nullptr;
  std::byte* sums = nullptr;

  Bound(const Plan& plan, const Program& program, Device& device, Communicator& communicator,
        std::vector<std::byte*> at, const Constants& constants, const WorkerOptions& options)
      : addresses(std::move(at)),
        interpreter(plan, program, device, communicator, addresses, constants, options.fault) {
    if (options.captures && options.fault == Fault::kNone) {
      interpreter.capture_repeated();
    }
    inputs = find(BufferContent::kTokens);
    targets = find(BufferContent::kTargets);
    sums = find(BufferContent::kSums);
    check(sums != nullptr, "every role sums its loss and gradient norm");
  }

 private:
  std::byte* find(BufferContent content) const {
    for (const Buffer& buffer : interpreter.role().buffers) {
      if (buffer.content == content) {
        return addresses[buffer.id.at()];
      }
    }
    return nullptr;
  }
};

namespace {

Volumes difference(const DeviceCounters& device, const DeviceCounters& device_before, const CommunicatorCounters& sent,
                   const CommunicatorCounters& sent_before) {
  Volumes volumes;
  volumes.flops = device.flops - device_before.flops;
  for (std::size_t kind = 0; kind < volumes.sent.size(); ++kind) {
    volumes.sent[kind] = sent.sent[kind] - sent_before.sent[kind];
    volumes.messages[kind] = sent.messages[kind] - sent_before.messages[kind];
  }
  return volumes;
}

Values buffer_values(const Role& role, const RankMemory& memory, BufferId id) {
  return {memory.addresses()[id.at()], role.buffers[id.at()].type};
}

ByteCount bytes_of(std::span<const std::int32_t> tokens) {
  return ByteCount(static_cast<std::int64_t>(tokens.size_bytes()));
}

}  // namespace

Worker::Worker(Plan plan, Device& device, Communicator& communicator, WorkerOptions options)
    : plan_(std::move(plan)),
      device_(device),
      communicator_(communicator),
      options_(options),
      program_(compile(plan_)),
      coordinates_(program_.mesh.coordinates(communicator.rank())) {
  if (plan_.layout.compute_type == DataType::kFp16) {
    loss_scale_.emplace(plan_.training.loss_scaling);
  }
  check(communicator.size() == program_.mesh.ranks(), "a worker for each rank of the plan");
  memory_ = std::make_unique<RankMemory>(device_, role());
  constants_ = std::make_unique<DeviceConstants>(device_, plan_.model, plan_.training.sequence);
  training_ = std::make_unique<Bound>(plan_, program_, device_, communicator_, memory_->addresses(),
                                      constants_->addresses(), options_);
  for (const RankMemory::Block& block : memory_->communicated()) {
    communicator_.use_memory(block.data, block.bytes);
  }
}

Worker::~Worker() {
  for (const RankMemory::Block& block : memory_->communicated()) {
    communicator_.forget_memory(block.data);
  }
}

const Role& Worker::role() const { return program_.role_of(communicator_.rank()); }

ByteCount Worker::buffers_allocated() const { return memory_->allocated(); }

bool Worker::replays() const { return training_->interpreter.captured(); }

double Worker::tokens_per_step() const {
  return static_cast<double>(plan_.layout.sequences_per_step() * plan_.training.sequence);
}

IndexRange Worker::owned(const Bucket& bucket) const {
  const auto data = static_cast<std::size_t>(coordinates_.data);
  return {bucket.boundaries[data], bucket.boundaries[data + 1]};
}

void Worker::set_parameters(const WeightSource& source) {
  for (const Bucket& bucket : role().buckets) {
    std::vector<float> values(static_cast<std::size_t>(bucket.elements));
    for (const BucketParameter& placed : bucket.parameters) {
      const std::span<float> slice(values.data() + placed.offset, static_cast<std::size_t>(placed.elements));
      source(placed.parameter, local_ranges(placed.shard, program_.mesh, coordinates_), slice);
    }
    write_floats(device_, buffer_values(role(), *memory_, bucket.parameters_buffer), values.data(), bucket.elements);
    if (const Buffer* master = find_persistent(role(), BufferContent::kMaster, bucket.id)) {
      const std::int64_t first = master->elements == bucket.elements ? 0 : owned(bucket).begin;
      write_floats(device_, buffer_values(role(), *memory_, master->id), values.data() + first, master->elements);
    }
  }
}

void Worker::fill_tokens(const Bound& bound, const StepTokens& tokens) {
  const auto expected =
      static_cast<std::size_t>(plan_.layout.accumulation * plan_.layout.micro_batch * plan_.training.sequence);
  check(tokens.inputs.size() == expected && tokens.targets.size() == expected, "a step's tokens fill its buffers");
  if (bound.inputs != nullptr) {
    device_.copy_in(Stream::kCompute, bound.inputs, tokens.inputs.data(), bytes_of(tokens.inputs));
  }
  if (bound.targets != nullptr) {
    device_.copy_in(Stream::kCompute, bound.targets, tokens.targets.data(), bytes_of(tokens.targets));
  }
}

StepResult Worker::run(Bound& bound, const StepSettings& settings, const StepTokens& tokens, bool trace) {
  const DeviceCounters device_before = device_.counters();
  const CommunicatorCounters sent_before = communicator_.counters();
  StepResult result;
  if (trace) {
    result.clocks.resize(bound.interpreter.role().instructions.size());
  }
  std::array<std::int64_t, kSumsWords> sums{};
  const ByteCount sum_bytes(static_cast<std::int64_t>(sizeof(sums)));
  const auto begin = std::chrono::steady_clock::now();
  device_.zero(Stream::kCompute, bound.sums, sum_bytes);
  fill_tokens(bound, tokens);
  device_.synchronize();  // the program orders no stream behind this: a stage without loss only reduces sums
  result.replayed = bound.interpreter.enqueue(settings, trace ? &result.clocks : nullptr);
  device_.synchronize();
  result.duration = std::chrono::nanoseconds(std::chrono::steady_clock::now() - begin).count();
  device_.copy_out(Stream::kCompute, sums.data(), bound.sums, sum_bytes);
  device_.synchronize();
  const std::span<const std::int64_t> words(sums);
  result.gradient_norm = std::sqrt(value(words.first(kSumWords))) / static_cast<double>(settings.gradients.scale);
  result.loss = value(words.last(kSumWords)) / tokens_per_step();
  result.learning_rate = settings.learning_rate;
  result.counted = difference(device_.counters(), device_before, communicator_.counters(), sent_before);
  return result;
}

StepResult Worker::train(std::int64_t step, const StepTokens& tokens, bool trace) {
  double denominator = tokens_per_step();
  if (options_.fault == Fault::kWrongLossDenominator) {
    denominator -= static_cast<double>(plan_.layout.sequences_per_step());
  }
  StepSettings settings{.updates = step, .learning_rate = learning_rate_at(plan_.training, step)};
  if (loss_scale_) {
    gradient_scale_ = loss_scale_->state().scale;
    settings.updates -= loss_scale_->state().skipped_steps;
    settings.gradients = {.scale = static_cast<float>(gradient_scale_), .skips = true};
  }
  settings.loss_scale = static_cast<float>(gradient_scale_ / denominator);
  StepResult result = run(*training_, settings, tokens, trace);
  if (loss_scale_) {
    result.loss_scale = gradient_scale_;
    result.skipped = !std::isfinite(result.gradient_norm);
    loss_scale_->after_step(result.skipped);
  }
  return result;
}

std::optional<LossScaleState> Worker::loss_scale() const {
  return loss_scale_ ? std::optional(loss_scale_->state()) : std::nullopt;
}

void Worker::set_loss_scale(const LossScaleState& state) {
  check(loss_scale_.has_value(), "an fp16 run has a loss scale");
  loss_scale_->set_state(state);
}

double Worker::evaluate(const StepTokens& tokens) {
  if (!evaluation_) {
    evaluation_program_ = std::make_unique<Program>(compile(plan_, ProgramKind::kEvaluation));
    const Role& role = evaluation_program_->role_of(communicator_.rank());
    evaluation_ = std::make_unique<Bound>(plan_, *evaluation_program_, device_, communicator_,
                                          memory_->addresses_for(role), constants_->addresses(), WorkerOptions{});
  }
  return run(*evaluation_, {}, tokens, false).loss;
}

std::vector<float> Worker::evaluated_logits() {
  check(evaluation_ != nullptr, "logits are read after an evaluation");
  const std::vector<Buffer>& buffers = evaluation_->interpreter.role().buffers;
  // Each micro-batch has a buffer of its own; nothing is placed over the last one's, and a loss without
  // gradient leaves it as it is.
  const auto last = std::find_if(buffers.rbegin(), buffers.rend(),
                                 [](const Buffer& buffer) { return buffer.content == BufferContent::kLogits; });
  std::vector<float> logits(last == buffers.rend() ? 0 : static_cast<std::size_t>(last->elements));
  if (!logits.empty()) {
    read_floats(device_, ConstValues(evaluation_->addresses[last->id.at()], last->type), logits.data(), last->elements);
  }
  return logits;
}

std::vector<TensorSlice> Worker::slices(bool gradients) {
  const bool sharded = gradients && plan_.layout.zero_stage >= 1;
  std::vector<TensorSlice> result;
  for (const Bucket& bucket : role().buckets) {
    const IndexRange held = sharded ? owned(bucket) : IndexRange{0, bucket.elements};
    const BufferId buffer = gradients ? bucket.gradients_buffer : bucket.parameters_buffer;
    const ConstValues values = buffer_values(role(), *memory_, buffer);
    for (const BucketParameter& placed : bucket.parameters) {
      const std::int64_t begin = std::clamp(held.begin - placed.offset, std::int64_t{0}, placed.elements);
      const std::int64_t end = std::clamp(held.end - placed.offset, begin, placed.elements);
      TensorSlice slice{.parameter = placed.parameter,
                        .ranges = local_ranges(placed.shard, program_.mesh, coordinates_),
                        .flat = {begin, end},
                        .values = std::vector<float>(static_cast<std::size_t>(end - begin))};
      read_floats(device_, values + (placed.offset + begin), slice.values.data(), end - begin);
      for (float& gradient : gradients ? std::span(slice.values) : std::span<float>()) {
        gradient /= static_cast<float>(gradient_scale_);
      }
      result.push_back(std::move(slice));
    }
  }
  return result;
}

std::vector<StateSlice> Worker::state() const {
  std::vector<StateSlice> slices = state_slices(program_, communicator_.rank());
  for (StateSlice& slice : slices) {
    slice.memory = buffer_values(role(), *memory_, slice.buffer) + slice.offset;
  }
  return slices;
}

std::vector<TensorSlice> Worker::parameters() { return slices(false); }
std::vector<TensorSlice> Worker::gradients() { return slices(true); }

}  // namespace trainyard::executor
