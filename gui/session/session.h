// Session: what one window has open; every view gets it.
#pragma once

#include <QObject>
#include <string>

#include "gui/session/analysis.h"
#include "gui/session/job_queue.h"
#include "gui/session/reliability_studies.h"
#include "gui/session/results.h"
#include "gui/session/run_list.h"
#include "gui/session/search.h"
#include "gui/session/selection.h"
#include "gui/session/study_document.h"

namespace trainyard::gui {

class Session : public QObject {
  Q_OBJECT

 public:
  explicit Session(QObject* parent = nullptr);

  StudyDocument& document() { return document_; }
  Results& results() { return results_; }
  const Results& results() const { return results_; }
  Selection& selection() { return selection_; }
  Analysis& analysis() { return analysis_; }
  const Analysis& analysis() const { return analysis_; }
  ReliabilityStudies& reliability() { return reliability_; }
  Search& search() { return search_; }
  RunList& runs() { return runs_; }
  JobQueue& jobs() { return jobs_; }

  // The search's own goes through Search, which keeps what was found.
  void cancel_job(JobId job);

  bool is_starred(int plan) const;
  void set_starred(int plan, bool starred);

 private:
  void remember_selection();
  void restore_selection();

  StudyDocument document_;
  Results results_;
  Selection selection_;
  JobQueue jobs_;  // ends before what its jobs call
  Analysis analysis_;
  ReliabilityStudies reliability_;
  Search search_;
  RunList runs_;
  std::string plan_;                     // that a person selected, as text; empty: the best is shown
  std::string shown_, plan_a_, plan_b_;  // selected, as text, while plans change
  bool restoring_ = false;
};

}  // namespace trainyard::gui
