// JobQueue: work off the window's thread, with a title, progress and cancel; the rows of the Jobs dock.
//
//   jobs.start<Trace>(this, tr("Simulating"), [plan](JobContext& job) { return simulate(plan, job.stop()); },
//                     [this](Trace trace) { show(std::move(trace)); }, [this](const Failure& f) { ... });
//
// The work runs on a thread of the pool and touches nothing of Qt; `done` and `failed` run on the window's thread, and
// not at all once the owner is gone or the job was cancelled. An Error that the work throws is the job's failure, shown
// in the dock; any other exception too.
#pragma once

#include <QObject>
#include <QPointer>
#include <QString>
#include <QThreadPool>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <type_traits>
#include <utility>
#include <vector>

namespace trainyard::gui {

using JobId = std::int64_t;

struct Failure {
  QString problem;
  QString where;  // file and JSON pointer, or field
  QString hint;   // a way out
  QString text() const;
};

// Of the exception being handled; call inside catch.
Failure current_failure();

enum class JobState : std::uint8_t { kWaiting, kRunning, kDone, kFailed, kCancelled };

struct JobInfo {
  JobId id = 0;
  QString title;
  JobState state = JobState::kWaiting;
  std::optional<double> fraction;  // 0 to 1; nothing: not known
  QString text;                    // "1,200 of 8,000 layouts", or what failed
  std::int64_t begun_ms = 0;       // of a monotonic clock
  std::int64_t ended_ms = 0;
};

// What the work sees.
class JobContext {
 public:
  virtual ~JobContext() = default;
  virtual std::stop_token stop() const = 0;
  // Shown at most some 20 times a second; cheap to call.
  virtual void progress(std::optional<double> fraction, const QString& text) = 0;
  // Runs on the window's thread soon, unless the job is cancelled or its owner gone by then. For partial results.
  virtual void post(std::function<void()> on_window_thread) = 0;
};

class JobQueue : public QObject {
  Q_OBJECT

 public:
  explicit JobQueue(QObject* parent = nullptr);
  ~JobQueue() override;  // cancels all and waits

  template <class T>
  JobId start(QObject* owner, const QString& title, std::function<T(JobContext&)> work, std::function<void(T)> done,
              std::function<void(const Failure&)> failed = {}) {
    auto result = std::make_shared<std::optional<T>>();
    return start_plain(
        owner, title, [result, work = std::move(work)](JobContext& job) { *result = work(job); },
        [result, done = std::move(done)] { done(std::move(**result)); }, std::move(failed));
  }
  JobId start_plain(QObject* owner, const QString& title, std::function<void(JobContext&)> work,
                    std::function<void()> done, std::function<void(const Failure&)> failed = {});

  void cancel(JobId id);
  void cancel_all();
  void forget_ended();
  bool busy() const;  // some job waits or runs

  // Newest last; ended ones stay, the newest hundred.
  const std::vector<JobInfo>& jobs() const { return infos_; }

 Q_SIGNALS:
  void job_added();  // at the end of jobs()
  void job_changed(int row);
  void jobs_reset();  // rows have gone
  void busy_changed();

 private:
  class Task;
  friend class Task;
  void show_progress(JobId id, std::optional<double> fraction, const QString& text);
  void begun(JobId id);
  void ended(const std::shared_ptr<Task>& task, std::optional<Failure> failure);
  int row_of(JobId id) const;
  void drop_oldest();

  QThreadPool pool_;
  std::vector<JobInfo> infos_;
  std::vector<std::shared_ptr<Task>> tasks_;  // that wait or run
  JobId next_ = 1;
};

}  // namespace trainyard::gui
