#include "gui/session/run_list.h"

#include <signal.h>

#include <QCoreApplication>
#include <QDir>
#include <QFileInfo>
#include <algorithm>
#include <utility>

#include "core/error.h"
#include "core/layout/layout_text.h"
#include "executor/run/run_files.h"

namespace trainyard::gui {

namespace {

constexpr int kPollMilliseconds = 200;
constexpr int kEndMilliseconds = 3000;  // a run that is told to end has so long

executor::RunFiles files_of(const Run& run) { return {run.folder.toStdString()}; }

std::shared_ptr<const Trace> trace_of(const Run& run) {
  const std::filesystem::path file = files_of(run).trace();
  std::error_code ignored;
  if (!std::filesystem::exists(file, ignored)) {
    return nullptr;
  }
  return std::make_shared<const Trace>(read_trace(file));
}

}  // namespace

QString to_text(RunState state) {
  switch (state) {
    case RunState::kStarting:
      return QObject::tr("starting");
    case RunState::kRunning:
      return QObject::tr("running");
    case RunState::kDone:
      return QObject::tr("done");
    case RunState::kFailed:
      return QObject::tr("failed");
    case RunState::kStopped:
      return QObject::tr("stopped");
    case RunState::kOpened:
      return QObject::tr("record");
  }
  return {};
}

std::optional<Seconds> Run::median_step() const {
  std::vector<double> times;
  for (std::size_t i = record.steps.size() > 1 ? 1 : 0; i < record.steps.size(); ++i) {
    times.push_back(record.steps[i].step_time.si());
  }
  if (times.empty()) {
    return std::nullopt;
  }
  const auto middle = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2);
  std::nth_element(times.begin(), middle, times.end());
  return from_si<Seconds>(*middle);
}

std::optional<Seconds> Run::predicted_step() const {
  return plan && plan->prediction ? std::optional(plan->prediction->step_time) : std::nullopt;
}

RunList::RunList(QObject* parent) : QObject(parent) {
  poll_.setInterval(kPollMilliseconds);
  connect(&poll_, &QTimer::timeout, this, &RunList::poll);
}

RunList::~RunList() {
  for (const std::unique_ptr<QProcess>& process : processes_) {
    if (process && process->state() != QProcess::NotRunning) {
      process->disconnect(this);
      process->terminate();
    }
  }
  for (const std::unique_ptr<QProcess>& process : processes_) {
    if (process && process->state() != QProcess::NotRunning && !process->waitForFinished(kEndMilliseconds)) {
      process->kill();
      process->waitForFinished(kEndMilliseconds);
    }
  }
}

QString RunList::executable() {
  const QString given = qEnvironmentVariable("TRAINYARD");
  if (!given.isEmpty()) {
    return given;
  }
  const QDir here(QCoreApplication::applicationDirPath());
  // Installed side by side; in a build tree under cli/.
  for (const char* place : {"trainyard", "../cli/trainyard", "../../cli/trainyard"}) {
    const QString file = here.absoluteFilePath(QString::fromLatin1(place));
    if (QFileInfo(file).isExecutable()) {
      return QDir::cleanPath(file);
    }
  }
  return QStringLiteral("trainyard");
}

const Run* RunList::measured(const std::string& layout) const {
  const auto found =
      std::find_if(runs_.rbegin(), runs_.rend(), [&](const Run& run) { return run.trace && run.layout == layout; });
  return found == runs_.rend() ? nullptr : &*found;
}

int RunList::start(const Start& start) {
  std::error_code failure;
  const std::filesystem::path folder = start.folder.toStdString();
  std::filesystem::create_directories(folder.parent_path(), failure);
  if (failure) {
    throw Error("can't make the folder: " + failure.message(), folder.parent_path().string(), "choose another");
  }
  // Beside the run's folder, which must be new when `run` starts.
  const std::filesystem::path plan_file = folder.string() + ".plan.json";
  write_plan(start.plan, plan_file);
  Run run;
  run.folder = start.folder;
  run.plan = start.plan;
  run.layout = layout_text(start.plan.layout);
  run.steps = std::min(start.steps, start.plan.training.steps);
  runs_.push_back(std::move(run));
  const int index = static_cast<int>(runs_.size()) - 1;

  auto process = std::make_unique<QProcess>();
  QStringList arguments = {QStringLiteral("run"),      QString::fromStdString(plan_file.string()),
                           QStringLiteral("--data"),   start.data,
                           QStringLiteral("--output"), start.folder,
                           QStringLiteral("--steps"),  QString::number(start.steps)};
  if (!start.profile.isEmpty()) {
    arguments << QStringLiteral("--profile") << start.profile;
  }
  QProcess* raw = process.get();
  raw->setStandardOutputFile(QProcess::nullDevice());
  const auto place = [this, raw] {
    const auto found = std::find_if(processes_.begin(), processes_.end(),
                                    [raw](const std::unique_ptr<QProcess>& held) { return held.get() == raw; });
    return static_cast<int>(found - processes_.begin());
  };
  connect(raw, &QProcess::finished, this, [this, place](int code, QProcess::ExitStatus status) {
    ended(place(), code, status == QProcess::CrashExit);
  });
  connect(raw, &QProcess::errorOccurred, this, [this, place](QProcess::ProcessError error) {
    if (error == QProcess::FailedToStart) {
      Run& failed = runs_[static_cast<std::size_t>(place())];
      failed.state = RunState::kFailed;
      failed.message = tr("%1 can't be started; set $TRAINYARD to the command").arg(executable());
      Q_EMIT run_changed(place());
    }
  });
  processes_.push_back(std::move(process));
  Q_EMIT run_added(index);
  raw->start(executable(), arguments);
  poll_.start();
  return index;
}

int RunList::open(const QString& folder_or_file) {
  const QFileInfo info(folder_or_file);
  Run run;
  run.folder = info.isDir() ? info.absoluteFilePath() : info.absolutePath();
  const std::filesystem::path record =
      info.isDir() ? files_of(run).record() : std::filesystem::path(info.absoluteFilePath().toStdString());
  run.record = read_run_record(record);
  std::error_code ignored;
  if (std::filesystem::exists(files_of(run).plan(), ignored)) {
    run.plan = read_plan(files_of(run).plan());
    run.layout = layout_text(run.plan->layout);
  }
  run.trace = trace_of(run);
  run.steps = static_cast<std::int64_t>(run.record.steps.size());
  run.state = RunState::kOpened;
  if (run.record.failure) {
    run.message = QString::fromStdString(run.record.failure->cause);
  }
  runs_.push_back(std::move(run));
  processes_.push_back(nullptr);
  const int index = static_cast<int>(runs_.size()) - 1;
  Q_EMIT run_added(index);
  return index;
}

void RunList::stop(int index) {
  QProcess* process = processes_.at(static_cast<std::size_t>(index)).get();
  if (process != nullptr && process->state() != QProcess::NotRunning) {
    ::kill(static_cast<pid_t>(process->processId()), SIGINT);  // as Ctrl+C: the launcher ends its ranks
  }
}

void RunList::close(int index) {
  stop(index);
  if (QProcess* process = processes_.at(static_cast<std::size_t>(index)).get();
      process != nullptr && process->state() != QProcess::NotRunning) {
    process->disconnect(this);
    if (!process->waitForFinished(kEndMilliseconds)) {
      process->kill();
      process->waitForFinished(kEndMilliseconds);
    }
  }
  runs_.erase(runs_.begin() + index);
  processes_.erase(processes_.begin() + index);
  Q_EMIT runs_reset();
}

void RunList::clear() {
  while (!runs_.empty()) {
    close(static_cast<int>(runs_.size()) - 1);
  }
}

bool RunList::any_running() const {
  return std::any_of(runs_.begin(), runs_.end(), [](const Run& run) {
    return run.state == RunState::kStarting || run.state == RunState::kRunning;
  });
}

void RunList::poll() {
  for (std::size_t i = 0; i < runs_.size(); ++i) {
    if (runs_[i].state == RunState::kStarting || runs_[i].state == RunState::kRunning) {
      read_record(static_cast<int>(i));
    }
  }
  if (!any_running()) {
    poll_.stop();
  }
}

void RunList::read_record(int index) {
  Run& run = runs_[static_cast<std::size_t>(index)];
  const std::size_t before = run.record.steps.size();
  std::error_code ignored;
  if (!std::filesystem::exists(files_of(run).record(), ignored)) {
    return;
  }
  try {
    run.record = read_run_record(files_of(run).record());
  } catch (const Error&) {
    return;  // its first line isn't there yet
  }
  if (run.state == RunState::kStarting) {
    run.state = RunState::kRunning;
    Q_EMIT run_changed(index);
  } else if (run.record.steps.size() != before) {
    Q_EMIT run_changed(index);
  }
}

void RunList::ended(int index, int code, bool crashed) {
  if (index < 0 || static_cast<std::size_t>(index) >= runs_.size()) {
    return;
  }
  constexpr int kInterrupted = 130;
  read_record(index);
  Run& run = runs_[static_cast<std::size_t>(index)];
  const QString said = QString::fromUtf8(processes_[static_cast<std::size_t>(index)]->readAllStandardError()).trimmed();
  run.state = code == 0 && !crashed ? RunState::kDone : code == kInterrupted ? RunState::kStopped : RunState::kFailed;
  if (run.state == RunState::kFailed) {
    const QStringList lines = said.split(QLatin1Char('\n'));
    constexpr int kShown = 6;
    run.message = lines.mid(std::max<qsizetype>(0, lines.size() - kShown)).join(QLatin1Char('\n'));
  }
  try {
    run.trace = trace_of(run);
  } catch (const Error& error) {
    run.message = QString::fromUtf8(error.what());
  }
  Q_EMIT run_changed(index);
}

}  // namespace trainyard::gui
