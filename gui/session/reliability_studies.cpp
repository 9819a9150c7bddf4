#include "gui/session/reliability_studies.h"

#include <algorithm>
#include <utility>

namespace trainyard::gui {

namespace {

constexpr double kArchiveInterval = 7200.0;  // s of work between saves that outlive the newest few, as in `reliability`
constexpr std::int64_t kRuns = 200;

}  // namespace

std::optional<simulator::JobCase> job_case(const Problem& problem, const PlanRow& row) {
  if (!problem.failures || !row.feasible()) {
    return std::nullopt;
  }
  simulator::JobCase of;
  of.plan = problem.plan_of(row.layout);
  of.profile = *problem.failures;
  of.step_time = row.step_time;
  of.overrides.mean_time_between_failures = problem.mean_time_between_failures;
  if (!problem.machine) {  // as `trainyard reliability --plan` takes a plan for CPUs
    of.fabric.ranks.value = of.plan.layout.ranks();
    of.fabric.ranks_per_node.value = std::max<std::int64_t>(1, of.plan.cluster.ranks_per_node);
    return of;
  }
  of.fabric = problem.machine->fabric;
  of.accelerator = problem.machine->accelerator;
  of.cluster = problem.cluster;
  of.overrides.archive_interval = from_si<Seconds>(kArchiveInterval);
  return of;
}

ReliabilityStudies::ReliabilityStudies(JobQueue& jobs, const Results& results, const Analysis& analysis,
                                       QObject* parent)
    : QObject(parent), jobs_(jobs), results_(results), analysis_(analysis) {
  connect(&analysis, &Analysis::problem_changed, this, [this] {
    ++generation_;
    for (const auto& [job, what] : std::exchange(running_, {})) {
      jobs_.cancel(job);
    }
    parts_.clear();
    Q_EMIT changed();
  });
  connect(&jobs, &JobQueue::job_changed, this, &ReliabilityStudies::forget_cancelled);
}

const ReliabilityStudies::Part* ReliabilityStudies::part_of(int plan) const {
  const PlanRow* row = results_.plan(plan);
  const auto found = row == nullptr ? parts_.end() : parts_.find(row->text);
  return found == parts_.end() ? nullptr : &found->second;
}

PartState ReliabilityStudies::state(int plan, bool full) const {
  const Part* part = part_of(plan);
  return part == nullptr ? PartState::kNone : full ? part->full : part->quick;
}

std::shared_ptr<const simulator::ReliabilityStudy> ReliabilityStudies::study(int plan) const {
  const Part* part = part_of(plan);
  return part == nullptr ? nullptr : part->study;
}

QString ReliabilityStudies::message(int plan) const {
  const Part* part = part_of(plan);
  return part == nullptr ? QString() : part->message;
}

void ReliabilityStudies::request(int plan, bool full) {
  const PlanRow* row = results_.plan(plan);
  if (row == nullptr || !analysis_.problem()) {
    return;
  }
  Part& part = parts_[row->text];
  PartState& state = full ? part.full : part.quick;
  if (state != PartState::kNone || (!full && part.full == PartState::kReady)) {
    return;
  }
  std::optional<simulator::JobCase> of = job_case(*analysis_.problem(), *row);
  if (!of) {
    state = PartState::kFailed;
    part.message = !row->feasible() ? tr("The plan can't run, so it can't fail.")
                   : analysis_.problem()->on_this_machine()
                       ? tr("Nobody has published how often this machine fails. Say it in Inputs, under Failures, "
                            "\u201ca failure every\u201d; or press the button.")
                       : tr("Inputs name no failure profile, so nothing is known of what fails. Choose one there, "
                            "under Failures; or press the button.");
    return;
  }
  state = PartState::kComputing;
  start(row->text,
        full ? tr("Simulating failures of %1").arg(QString::fromStdString(row->text))
             : tr("Goodput of %1").arg(QString::fromStdString(row->text)),
        std::move(*of), full);
}

void ReliabilityStudies::start(const std::string& layout, const QString& title, simulator::JobCase job, bool full) {
  using Found = std::shared_ptr<const simulator::ReliabilityStudy>;
  simulator::StudyRequest request;
  request.runs = full ? kRuns : 0;
  request.threads = 1;
  request.tokens = static_cast<double>(job.plan.training.global_batch * job.plan.training.sequence) *
                   static_cast<double>(job.plan.training.steps);
  const std::int64_t generation = generation_;
  const JobId job_id = jobs_.start<Found>(
      this, title,
      [job = std::move(job), request](JobContext& context) -> Found {
        return std::make_shared<const simulator::ReliabilityStudy>(simulator::study_reliability(
            job, request,
            [&context](const std::string& text) { context.progress(std::nullopt, QString::fromStdString(text)); },
            context.stop()));
      },
      [this, layout, full, generation](Found study) {
        if (generation != generation_) {
          return;  // of inputs that are no more
        }
        Part& part = parts_[layout];
        (full ? part.full : part.quick) = PartState::kReady;
        if (full || part.full != PartState::kReady) {
          part.study = std::move(study);
        }
        Q_EMIT changed();
      },
      [this, layout, full, generation](const Failure& failure) {
        if (generation == generation_) {
          Part& part = parts_[layout];
          (full ? part.full : part.quick) = PartState::kFailed;
          part.message = failure.text();
          Q_EMIT changed();
        }
      });
  running_[job_id] = {layout, full};
}

// Neither done nor failed is called of a job that somebody cancels: the views must not wait for it.
void ReliabilityStudies::forget_cancelled(int job) {
  const JobInfo& info = jobs_.jobs().at(static_cast<std::size_t>(job));
  const auto found = running_.find(info.id);
  if (info.state != JobState::kCancelled || found == running_.end()) {
    return;
  }
  Part& part = parts_[found->second.layout];
  (found->second.full ? part.full : part.quick) = PartState::kFailed;
  part.message = tr("Cancelled in Jobs; a change of the inputs computes it anew.");
  running_.erase(found);
  Q_EMIT changed();
}

}  // namespace trainyard::gui
