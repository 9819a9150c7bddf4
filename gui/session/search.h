// Search: keeps Results up to the inputs: opens the study's words, searches off the window's thread, streams the best
// so far, and begins anew a moment after each edit. While a field is wrong the last results stay, marked as of before.
#pragma once

#include <QObject>
#include <QTimer>
#include <memory>
#include <vector>

#include "gui/session/job_queue.h"
#include "gui/session/problem.h"
#include "gui/session/results.h"

namespace trainyard::gui {

class Analysis;
class StudyDocument;

class Search : public QObject {
  Q_OBJECT

 public:
  Search(StudyDocument& document, Results& results, Analysis& analysis, JobQueue& jobs, QObject* parent = nullptr);

  void start();   // now
  void cancel();  // what was found so far stays
  bool running() const { return job_ != 0; }
  JobId job() const { return job_; }  // 0: none

  // Of the inputs as they are: fields that are wrong, and whether this machine must be measured first.
  const std::vector<FieldError>& errors() const { return errors_; }
  bool unmeasured() const { return unmeasured_; }
  // The inputs opened, as soon as they are right; null before.
  const std::shared_ptr<const Problem>& problem() const { return problem_; }

  bool automatic() const { return automatic_; }  // search after each edit
  void set_automatic(bool automatic);

 Q_SIGNALS:
  void checked();  // errors(), unmeasured() and problem() are of the inputs as they are
  void running_changed();
  void failed(const Failure& failure);

 private:
  void inputs_changed();
  void check_inputs();
  void take(const OpenedProblem& opened);
  void search(const std::shared_ptr<const Problem>& problem);
  void measure();

  StudyDocument& document_;
  Results& results_;
  Analysis& analysis_;
  JobQueue& jobs_;
  QTimer delay_;
  std::vector<FieldError> errors_;
  bool unmeasured_ = false;
  std::shared_ptr<const Problem> problem_;
  JobId job_ = 0;
  JobId opening_ = 0;
  bool automatic_ = true;
  bool wanted_ = false;  // start() was called before the inputs were opened
  std::int64_t generation_ = 0;
};

}  // namespace trainyard::gui
