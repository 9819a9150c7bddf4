#include "gui/session/search.h"

#include <QDir>
#include <QProcess>
#include <QStandardPaths>
#include <chrono>
#include <utility>

#include "core/error.h"
#include "gui/session/analysis.h"
#include "gui/session/plan_search.h"
#include "gui/session/run_list.h"
#include "gui/session/study_document.h"

namespace trainyard::gui {

namespace {

constexpr int kDelayMilliseconds = 250;
constexpr auto kBetweenPartialResults = std::chrono::milliseconds(150);
constexpr int kCalibrationPollMilliseconds = 100;
constexpr double kExpectedCalibrationSeconds = 15.0;

QString profile_file(std::int64_t ranks) {
  const QString folder = QStandardPaths::writableLocation(QStandardPaths::AppDataLocation);
  QDir().mkpath(folder);
  return QDir(folder).absoluteFilePath(QStringLiteral("this-machine-%1.profile.json").arg(ranks));
}

// `trainyard calibrate` as a child. Throws Error with what it said.
std::string calibrate(std::int64_t ranks, JobContext& job) {
  const QString file = profile_file(ranks);
  QProcess process;
  process.start(RunList::executable(),
                {QStringLiteral("calibrate"), QStringLiteral("--quick"), QStringLiteral("--ranks"),
                 QString::number(ranks), QStringLiteral("--output"), file});
  if (!process.waitForStarted()) {
    throw Error("can't be started: " + process.errorString().toStdString(), RunList::executable().toStdString(),
                "set $TRAINYARD to the trainyard command");
  }
  const auto begin = std::chrono::steady_clock::now();
  while (!process.waitForFinished(kCalibrationPollMilliseconds) && process.state() != QProcess::NotRunning) {
    if (job.stop().stop_requested()) {
      process.terminate();
      if (!process.waitForFinished(3000)) {
        process.kill();
        process.waitForFinished();
      }
      return {};
    }
    const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - begin;
    job.progress(elapsed.count() / (elapsed.count() + kExpectedCalibrationSeconds / 2),
                 QObject::tr("about %1 s; leave the machine alone meanwhile").arg(kExpectedCalibrationSeconds));
  }
  if (process.exitStatus() != QProcess::NormalExit || process.exitCode() != 0) {
    throw Error("could not measure this machine: " + process.readAllStandardError().trimmed().toStdString(),
                "trainyard calibrate", "fewer ranks, or see `trainyard doctor`");
  }
  return file.toStdString();
}

}  // namespace

Search::Search(StudyDocument& document, Results& results, Analysis& analysis, JobQueue& jobs, QObject* parent)
    : QObject(parent), document_(document), results_(results), analysis_(analysis), jobs_(jobs) {
  delay_.setSingleShot(true);
  delay_.setInterval(kDelayMilliseconds);
  connect(&delay_, &QTimer::timeout, this, &Search::check_inputs);
  connect(&document_, &StudyDocument::inputs_changed, this, &Search::inputs_changed);
  connect(&document_, &StudyDocument::replaced, this, [this] {
    cancel();
    problem_.reset();
    unmeasured_ = false;  // until its inputs are looked at
    results_.clear();
    analysis_.set_problem(nullptr);
  });
}

void Search::set_automatic(bool automatic) { automatic_ = automatic; }

void Search::inputs_changed() {
  ++generation_;
  problem_.reset();
  delay_.start();
}

void Search::start() {
  wanted_ = true;
  if (problem_) {
    search(problem_);
  } else if (unmeasured_ && !delay_.isActive()) {
    measure();
  } else {
    delay_.stop();
    check_inputs();
  }
}

void Search::cancel() {
  wanted_ = false;
  delay_.stop();
  if (job_ != 0) {
    jobs_.cancel(std::exchange(job_, 0));
    SearchSummary summary = results_.summary();
    summary.stopped = true;
    results_.replace(results_.plans(), summary);
    Q_EMIT running_changed();
  }
}

void Search::check_inputs() {
  if (opening_ != 0) {
    jobs_.cancel(opening_);
  }
  opening_ = jobs_.start<OpenedProblem>(
      this, tr("Reading the inputs"), [study = document_.study()](JobContext&) { return open_problem(study); },
      [this, generation = generation_](const OpenedProblem& opened) {
        opening_ = 0;
        if (generation == generation_) {
          take(opened);
        }
      });
}

void Search::take(const OpenedProblem& opened) {
  errors_ = opened.errors;
  unmeasured_ = opened.unmeasured;
  problem_ = opened.problem;
  if (!problem_ && job_ != 0) {
    jobs_.cancel(std::exchange(job_, 0));  // a search of inputs that are no more
    Q_EMIT running_changed();
  }
  Q_EMIT checked();
  if (problem_ && (automatic_ || wanted_)) {
    search(problem_);
  } else if (unmeasured_ && wanted_) {
    measure();
  }
}

void Search::search(const std::shared_ptr<const Problem>& problem) {
  wanted_ = false;
  if (job_ != 0) {
    jobs_.cancel(job_);
  }
  const auto publish = [this, problem](FoundPlans found) {
    analysis_.set_problem(problem);
    results_.replace(std::move(found.plans), found.summary);
  };
  const auto work = [publish, problem](JobContext& job) {
    auto last = std::chrono::steady_clock::now() - kBetweenPartialResults;
    FoundPlans found = search_plans(
        *problem,
        [&](const SearchReport& report) {
          job.progress(report.fraction, QString::fromStdString(report.text));
          const auto now = std::chrono::steady_clock::now();
          if (now - last >= kBetweenPartialResults) {
            last = now;
            job.post([publish, so_far = report.best()] { publish(so_far); });
          }
        },
        job.stop());
    if (problem->failures && problem->machine) {
      FoundPlans without = found;
      without.summary.finished = false;
      job.post([publish, without = std::move(without)] { publish(without); });
      job.progress(std::nullopt, QObject::tr("goodput of the best"));
      add_goodput(*problem, found.plans, job.stop());
    }
    return found;
  };
  job_ = jobs_.start<FoundPlans>(
      this, tr("Searching layouts"), work,
      [this, publish](FoundPlans found) {
        publish(std::move(found));
        job_ = 0;
        Q_EMIT running_changed();
      },
      [this](const Failure& failure) {
        job_ = 0;
        Q_EMIT running_changed();
        Q_EMIT failed(failure);
      });
  Q_EMIT running_changed();
}

void Search::measure() {
  wanted_ = false;
  if (job_ != 0) {
    return;
  }
  const std::int64_t ranks = document_.study().ranks;
  job_ = jobs_.start<std::string>(
      this, tr("Measuring this machine"), [ranks](JobContext& job) { return calibrate(ranks, job); },
      [this](const std::string& file) {
        job_ = 0;
        wanted_ = true;
        document_.edit(Field::kProfile, tr("measure this machine"), [&](Study& study) { study.profile = file; });
        Q_EMIT running_changed();
      },
      [this](const Failure& failure) {
        job_ = 0;
        Q_EMIT running_changed();
        Q_EMIT failed(failure);
      });
  Q_EMIT running_changed();
}

}  // namespace trainyard::gui
