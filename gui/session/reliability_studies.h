// ReliabilityStudies: what failures leave of a plan, computed in jobs when a view asks and kept until the inputs
// change. Quick: closed forms alone, a fraction of a second. Full: simulated runs too.
#pragma once

#include <QObject>
#include <QString>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "gui/session/analysis.h"
#include "gui/session/job_queue.h"
#include "gui/session/problem.h"
#include "gui/session/results.h"
#include "simulator/failure/reliability_study.h"

namespace trainyard::gui {

// Nothing where no failures are known: of a study without a profile and without a time between failures.
std::optional<simulator::JobCase> job_case(const Problem& problem, const PlanRow& row);

class ReliabilityStudies : public QObject {
  Q_OBJECT

 public:
  ReliabilityStudies(JobQueue& jobs, const Results& results, const Analysis& analysis, QObject* parent = nullptr);

  // Starts computing unless it is there, under way or has failed.
  void request(int plan, bool full);
  PartState state(int plan, bool full) const;
  // The most that is known; null before anything is.
  std::shared_ptr<const simulator::ReliabilityStudy> study(int plan) const;
  QString message(int plan) const;  // why there is none

 Q_SIGNALS:
  void changed();  // of some plan

 private:
  struct Part {
    PartState quick = PartState::kNone;
    PartState full = PartState::kNone;
    std::shared_ptr<const simulator::ReliabilityStudy> study;
    QString message;
  };
  const Part* part_of(int plan) const;
  void forget_cancelled(int job);
  void start(const std::string& layout, const QString& title, simulator::JobCase job, bool full);

  JobQueue& jobs_;
  const Results& results_;
  const Analysis& analysis_;
  std::map<std::string, Part> parts_;  // by PlanRow::text
  std::int64_t generation_ = 0;        // of the inputs
  struct Running {
    std::string layout;
    bool full = false;
  };
  std::map<JobId, Running> running_;
};

}  // namespace trainyard::gui
