#include "gui/session/job_queue.h"

#include <QDateTime>
#include <QElapsedTimer>
#include <QMetaObject>
#include <QRunnable>
#include <QThread>
#include <algorithm>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <mutex>
#include <new>

#include "core/error.h"

namespace trainyard::gui {

namespace {

constexpr std::size_t kMostJobs = 100;
constexpr std::int64_t kProgressMilliseconds = 50;

std::int64_t now_ms() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

bool has_ended(const JobInfo& info) { return info.state >= JobState::kDone; }

}  // namespace

QString Failure::text() const {
  QString text = where.isEmpty() ? problem : where + QStringLiteral(": ") + problem;
  return hint.isEmpty() ? text : text + QStringLiteral("\n") + hint;
}

Failure current_failure() {
  try {
    throw;
  } catch (const Error& error) {
    return {QString::fromStdString(error.problem()), QString::fromStdString(error.where()),
            QString::fromStdString(error.hint())};
  } catch (const std::bad_alloc&) {
    return {QObject::tr("this machine has too little memory for that"),
            {},
            QObject::tr("something smaller: fewer ranks, a smaller model, batch or cluster")};
  } catch (const std::filesystem::filesystem_error& failure) {
    return {QString::fromStdString(failure.code().message()), QString::fromStdString(failure.path1().string()),
            QObject::tr("check the path and its permissions")};
  } catch (const std::exception& failure) {
    return {QString::fromUtf8(failure.what()), {}, {}};
  }
}

class JobQueue::Task : public JobContext, public std::enable_shared_from_this<JobQueue::Task> {
 public:
  Task(JobQueue& job_queue, JobId id_of_job, QObject* owner_of_job)
      : queue(job_queue), id(id_of_job), owner(owner_of_job) {}

  std::stop_token stop() const override { return source.get_token(); }

  void progress(std::optional<double> fraction, const QString& text) override {
    const std::int64_t now = now_ms();
    if (now - shown_ms_.exchange(now) < kProgressMilliseconds && fraction != 1.0) {
      return;
    }
    QMetaObject::invokeMethod(
        &queue, [self = shared_from_this(), fraction, text] { self->queue.show_progress(self->id, fraction, text); },
        Qt::QueuedConnection);
  }

  void post(std::function<void()> on_window_thread) override {
    QMetaObject::invokeMethod(
        &queue,
        [self = shared_from_this(), call = std::move(on_window_thread)] {
          if (self->owner && !self->source.stop_requested()) {
            call();
          }
        },
        Qt::QueuedConnection);
  }

  JobQueue& queue;
  JobId id;
  QPointer<QObject> owner;
  std::stop_source source;
  std::function<void(JobContext&)> work;
  std::function<void()> done;
  std::function<void(const Failure&)> failed;

 private:
  std::atomic<std::int64_t> shown_ms_{0};
};

JobQueue::JobQueue(QObject* parent) : QObject(parent) {
  pool_.setMaxThreadCount(std::max(2, QThread::idealThreadCount()));
}

JobQueue::~JobQueue() {
  cancel_all();
  pool_.waitForDone();
}

JobId JobQueue::start_plain(QObject* owner, const QString& title, std::function<void(JobContext&)> work,
                            std::function<void()> done, std::function<void(const Failure&)> failed) {
  const bool was_busy = busy();
  auto task = std::make_shared<Task>(*this, next_++, owner);
  task->work = std::move(work);
  task->done = std::move(done);
  task->failed = std::move(failed);
  JobInfo info;
  info.id = task->id;
  info.title = title;
  infos_.push_back(std::move(info));
  tasks_.push_back(task);
  Q_EMIT job_added();
  drop_oldest();
  if (!was_busy) {
    Q_EMIT busy_changed();
  }
  pool_.start([this, task] {
    std::optional<Failure> failure;
    if (!task->source.stop_requested()) {
      QMetaObject::invokeMethod(
          this, [this, id = task->id] { begun(id); }, Qt::QueuedConnection);
      try {
        task->work(*task);
      } catch (...) {
        failure = current_failure();
      }
    }
    QMetaObject::invokeMethod(
        this, [this, task, failure] { ended(task, failure); }, Qt::QueuedConnection);
  });
  return task->id;
}

void JobQueue::cancel(JobId id) {
  for (const std::shared_ptr<Task>& task : tasks_) {
    if (task->id == id) {
      task->source.request_stop();
      if (const int row = row_of(id); row >= 0 && !has_ended(infos_[static_cast<std::size_t>(row)])) {
        infos_[static_cast<std::size_t>(row)].text = tr("cancelling");
        Q_EMIT job_changed(row);
      }
    }
  }
}

void JobQueue::cancel_all() {
  for (const std::shared_ptr<Task>& task : tasks_) {
    task->source.request_stop();
  }
}

void JobQueue::forget_ended() {
  std::erase_if(infos_, has_ended);
  Q_EMIT jobs_reset();
}

bool JobQueue::busy() const { return !tasks_.empty(); }

void JobQueue::show_progress(JobId id, std::optional<double> fraction, const QString& text) {
  const int row = row_of(id);
  if (row < 0 || has_ended(infos_[static_cast<std::size_t>(row)])) {
    return;
  }
  infos_[static_cast<std::size_t>(row)].fraction = fraction;
  infos_[static_cast<std::size_t>(row)].text = text;
  Q_EMIT job_changed(row);
}

void JobQueue::begun(JobId id) {
  if (const int row = row_of(id); row >= 0) {
    infos_[static_cast<std::size_t>(row)].state = JobState::kRunning;
    infos_[static_cast<std::size_t>(row)].begun_ms = now_ms();
    Q_EMIT job_changed(row);
  }
}

void JobQueue::ended(const std::shared_ptr<Task>& task, std::optional<Failure> failure) {
  const bool cancelled = task->source.stop_requested();
  std::erase(tasks_, task);
  if (const int row = row_of(task->id); row >= 0) {
    JobInfo& info = infos_[static_cast<std::size_t>(row)];
    info.state = cancelled ? JobState::kCancelled : failure ? JobState::kFailed : JobState::kDone;
    info.ended_ms = now_ms();
    info.text = cancelled ? tr("cancelled") : failure ? failure->text() : QString();
    Q_EMIT job_changed(row);
  }
  if (task->owner && !cancelled) {
    if (!failure) {
      task->done();
    } else if (task->failed) {
      task->failed(*failure);
    }
  }
  if (!busy()) {
    Q_EMIT busy_changed();
  }
}

int JobQueue::row_of(JobId id) const {
  const auto found = std::find_if(infos_.begin(), infos_.end(), [id](const JobInfo& info) { return info.id == id; });
  return found == infos_.end() ? -1 : static_cast<int>(found - infos_.begin());
}

void JobQueue::drop_oldest() {
  if (infos_.size() <= kMostJobs) {
    return;
  }
  const auto oldest = std::find_if(infos_.begin(), infos_.end(), has_ended);
  if (oldest != infos_.end()) {
    infos_.erase(oldest);
    Q_EMIT jobs_reset();
  }
}

}  // namespace trainyard::gui
