// Analysis: what takes longer to say of one plan, computed in jobs when a view asks and kept until the inputs change.
//
// The simulation is the plan's program interpreted instruction by instruction: its trace, memory by role, waterfall.
// Views that need more compute it from problem() and a plan themselves (JobQueue).
#pragma once

#include <QObject>
#include <QString>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/plan/plan.h"
#include "core/units/quantity.h"
#include "gui/session/job_queue.h"
#include "gui/session/problem.h"
#include "gui/session/results.h"
#include "simulator/simulate_cluster.h"
#include "simulator/simulate_plan.h"

namespace trainyard::gui {

enum class PartState : std::uint8_t { kNone, kComputing, kReady, kFailed };

struct PlanSimulation {
  Plan plan;
  simulator::Simulation simulation;  // with slices
  std::optional<simulator::StepWaterfall> waterfall;
  // Of a cluster, not of this machine:
  std::optional<simulator::StepSpread> spread;
  Seconds low;
  Seconds high;
  std::vector<std::string> notes;
  std::string lacks;  // of memory as a program, on a cluster: what is shown is the step that it would take
};

// Throws Error where programs don't express the layout, or it is far from fitting as a program.
std::shared_ptr<const PlanSimulation> simulate(const Problem& problem, const Layout& layout);

class Analysis : public QObject {
  Q_OBJECT

 public:
  Analysis(JobQueue& jobs, const Results& results, QObject* parent = nullptr);

  // What the results are of; null before the first search.
  const std::shared_ptr<const Problem>& problem() const { return problem_; }
  void set_problem(std::shared_ptr<const Problem> problem);  // forgets all parts

  // Starts computing unless it is there, under way or has failed.
  void request_simulation(int plan);
  PartState simulation_state(int plan) const;
  std::shared_ptr<const PlanSimulation> simulation(int plan) const;  // null unless ready
  QString simulation_message(int plan) const;                        // why it failed

 Q_SIGNALS:
  void problem_changed();
  void simulation_changed();  // of some plan: its state

 private:
  struct Part {
    PartState state = PartState::kNone;
    std::shared_ptr<const PlanSimulation> simulation;
    QString message;
  };
  const Part* part_of(int plan) const;
  void forget_cancelled(int job);  // row of the queue

  JobQueue& jobs_;
  const Results& results_;
  std::shared_ptr<const Problem> problem_;
  std::map<std::string, Part> parts_;     // by PlanRow::text
  std::map<JobId, std::string> running_;  // of which part
};

}  // namespace trainyard::gui
