#include "gui/session/problem.h"

#include <algorithm>
#include <utility>

#include "core/error.h"
#include "core/plan/plan_size.h"
#include "core/plan/shipped.h"
#include "core/units/parse_quantity.h"
#include "simulator/open_machine.h"
#include "simulator/planner/planner.h"

namespace trainyard::gui {

namespace {

constexpr std::int64_t kMostSequences = std::int64_t{1} << 31;

// Opens one field after the other; an Error is kept with its field and the rest is still looked at.
class Opener {
 public:
  explicit Opener(const Study& study) : study_(study), problem_(std::make_shared<Problem>()) {}

  OpenedProblem open() {
    problem_->study = study_;
    at(Field::kModel, [this] { problem_->model = open_model(study_.model, "model"); });
    at(Field::kMachine, [this] { open_machine(); });
    at(Field::kFailures, [this] { failures(); });
    at(Field::kFailureTime, [this] { failure_time(); });
    at(Field::kPolicy, [this] { problem_->recovery.kind = parse_recovery_kind(study_.policy, "policy"); });
    numbers();
    types();
    limits();
    OpenedProblem opened;
    opened.errors = std::move(errors_);
    opened.unmeasured = unmeasured_ && opened.errors.empty();
    if (opened.errors.empty() && !unmeasured_) {
      opened.problem = std::move(problem_);
    }
    return opened;
  }

 private:
  template <class Work>
  void at(Field field, const Work& work) {
    try {
      work();
    } catch (const Error& error) {
      errors_.push_back({field, error.problem(), error.hint()});
    }
  }

  void wrong(Field field, std::string what, std::string hint) {
    errors_.push_back({field, std::move(what), std::move(hint)});
  }

  void open_machine() {
    if (study_.machine == kThisMachine) {
      if (study_.profile.empty()) {
        unmeasured_ = true;
        return;
      }
      at(Field::kProfile, [this] { problem_->profile = read_device_profile(study_.profile); });
      return;
    }
    simulator::OpenedMachine opened;
    try {
      opened = simulator::open_machine(study_.machine, study_.accelerator);
    } catch (const Error& error) {
      const Field field = study_.accelerator.empty() ? Field::kMachine : Field::kAccelerator;
      errors_.push_back({field, error.problem(), error.hint()});
      return;
    }
    problem_->machine = std::move(opened.machine);
    problem_->profile = std::move(opened.profile);
    if (opened.cluster) {
      problem_->cluster = std::make_shared<const Cluster>(std::move(*opened.cluster));
    }
  }

  // Published profiles are of fleets: of this machine only a file of one's own says something.
  void failures() {
    if (study_.failures.empty()) {
      return;
    }
    simulator::FailureProfile profile = simulator::open_failure_profile(study_.failures);
    const bool published = std::ranges::any_of(
        shipped_failures(), [this](const ShippedFile& file) { return file.name == study_.failures; });
    if (study_.machine != kThisMachine || !published) {
      problem_->failures = std::move(profile);
    }
  }

  void failure_time() {
    if (study_.mean_time_between_failures.empty()) {
      return;
    }
    const auto time = parse_quantity<Seconds>(study_.mean_time_between_failures, "mean_time_between_failures");
    if (!(time > Seconds())) {
      throw Error("must be longer than nothing", "mean_time_between_failures", "a time such as \"1 h\"");
    }
    problem_->mean_time_between_failures = time;
    if (!problem_->failures) {
      problem_->failures = simulator::open_failure_profile("none");
    }
  }

  void numbers() {
    Training& training = problem_->training;
    training.sequence = study_.sequence;
    training.global_batch = study_.global_batch;
    training.steps = study_.steps;
    if (study_.ranks < 1 || study_.ranks > kMostRanks) {
      wrong(Field::kRanks, "must be 1 to " + std::to_string(kMostRanks), "the number of devices to train on");
    } else if (problem_->cluster && study_.ranks > static_cast<std::int64_t>(problem_->cluster->gpus().size())) {
      wrong(Field::kRanks, "more than the cluster's " + std::to_string(problem_->cluster->gpus().size()) + " GPUs",
            "fewer ranks, or a larger cluster");
    }
    if (study_.sequence < 1) {
      wrong(Field::kSequence, "must be at least 1", "tokens of one sample");
    } else if (problem_->model.positions > 0 && study_.sequence > problem_->model.positions) {
      wrong(Field::kSequence, "more than the model's " + std::to_string(problem_->model.positions) + " positions",
            "a shorter sequence, or a larger max_position_embeddings in the model's file");
    }
    if (study_.global_batch < 1 || study_.global_batch > kMostSequences) {
      wrong(Field::kGlobalBatch, "must be 1 to " + std::to_string(kMostSequences),
            "samples of one step, over all ranks");
    }
    if (study_.steps < 1) {
      wrong(Field::kSteps, "must be at least 1", "steps of the whole training");
    }
  }

  void types() {
    const auto named = [this](DataType type) { return study_.precision == to_string(type); };
    const auto* const type = std::ranges::find_if(kPrecisions, named);
    if (type == kPrecisions.end()) {
      wrong(Field::kPrecision, "'" + study_.precision + "' is no precision", "fp32, bf16, fp16, fp8, mxfp8 or nvfp4");
      return;
    }
    Layout& base = problem_->base;
    const bool own = *type == DataType::kFp32 || *type == DataType::kFp16;
    base.compute_type = *type;
    base.parameter_type = base.communication_type = own ? *type : DataType::kBf16;
    if (*type != DataType::kFp32) {
      check_peak(*type);
    }
  }

  void check_peak(DataType type) {
    if (!problem_->machine) {
      return;
    }
    const auto& peaks = problem_->machine->accelerator.dense_peak;
    const bool known = std::ranges::any_of(peaks, [type](const auto& peak) {
      const auto half = [](DataType one) { return one == DataType::kBf16 || one == DataType::kFp16; };
      return peak.first == type || (half(type) && half(peak.first));
    });
    if (!known) {
      std::string list;
      for (const auto& [stated, peak] : peaks) {
        list += (list.empty() ? "" : ", ") + std::string(to_string(stated));
      }
      wrong(Field::kPrecision, problem_->machine->accelerator.name + " computes no products in " + study_.precision,
            "it has " + list);
    }
  }

  void divides(Field field, const std::optional<int>& degree) {
    if (degree && (*degree < 1 || study_.ranks % *degree != 0)) {
      wrong(field, "doesn't divide the " + std::to_string(study_.ranks) + " ranks", "a divisor, or other ranks");
    }
  }

  void limits() {
    const StudyLimits& limits = study_.limits;
    divides(Field::kTensor, limits.tensor);
    divides(Field::kPipeline, limits.pipeline);
    divides(Field::kData, limits.data);
    divides(Field::kContext, limits.context);
    if (limits.zero && (*limits.zero < 0 || *limits.zero > 3)) {
      wrong(Field::kZero, "must be 0 to 3", "what replicas share out: optimizer, gradients, parameters");
    }
  }

  const Study& study_;
  std::shared_ptr<Problem> problem_;
  std::vector<FieldError> errors_;
  bool unmeasured_ = false;
};

}  // namespace

bool Problem::wanted(const Layout& layout) const {
  const StudyLimits& limits = study.limits;
  const auto agrees = [](const auto& asked, const auto& value) { return !asked || *asked == value; };
  return agrees(limits.tensor, layout.tensor) && agrees(limits.pipeline, layout.pipeline) &&
         agrees(limits.data, layout.data) && agrees(limits.context, layout.context) &&
         agrees(limits.expert, layout.expert) && agrees(limits.zero, layout.zero_stage) &&
         agrees(limits.micro_batch, layout.micro_batch) &&
         (limits.schedule.empty() || limits.schedule == to_string(layout.schedule)) &&
         (limits.recompute.empty() || limits.recompute == to_string(layout.recompute));
}

Plan Problem::plan_of(const Layout& layout) const {
  simulator::PlannerRequest request;
  request.model = model;
  request.training = training;
  request.ranks = layout.ranks();
  Plan plan = simulator::make_plan(request, profile, layout);
  plan.recovery = recovery;
  plan.checkpoint = checkpoint;
  return plan;
}

OpenedProblem open_problem(const Study& study) { return Opener(study).open(); }

}  // namespace trainyard::gui
