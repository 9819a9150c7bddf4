#include "gui/session/run_list.h"

#include <QCoreApplication>
#include <QDir>
#include <QFile>
#include <QFileInfo>
#include <algorithm>
#include <cmath>
#include <utility>

#include "core/error.h"
#include "core/layout/layout_text.h"
#include "executor/run/run_files.h"

namespace trainyard::gui {

namespace {

constexpr int kPollMilliseconds = 200;
constexpr auto kPatience = std::chrono::seconds(6);  // of a run that is told to end: its launcher gives ranks 5 s

executor::RunFiles files_of(const Run& run) { return {run.folder.toStdString()}; }

// The folder itself must be new when `run` starts.
std::filesystem::path plan_beside(const QString& folder) { return folder.toStdString() + ".plan.json"; }

std::shared_ptr<const Trace> trace_of(const Run& run) {
  const std::filesystem::path file = files_of(run).trace();
  std::error_code ignored;
  if (!std::filesystem::exists(file, ignored)) {
    return nullptr;
  }
  return std::make_shared<const Trace>(read_trace(file));
}

// In its folder once it has begun; beside it before.
void read_plan_of(Run& run) {
  for (const std::filesystem::path& file : {files_of(run).plan(), plan_beside(run.folder)}) {
    if (std::error_code ignored; std::filesystem::exists(file, ignored)) {
      run.plan = read_plan(file);
      run.layout = layout_text(run.plan->layout);
      return;
    }
  }
}

// The end of what it said, which says why it ended.
QString last_words(const QString& folder) {
  QFile log(run_log(folder));
  if (!log.open(QIODevice::ReadOnly)) {
    return {};
  }
  constexpr int kShown = 6;
  const QStringList lines = QString::fromUtf8(log.readAll()).trimmed().split(QLatin1Char('\n'));
  return lines.mid(std::max<qsizetype>(0, lines.size() - kShown)).join(QLatin1Char('\n'));
}

// By its record, as the process may be nobody's child. interrupted: from here.
RunState end_state(const RunRecord& record, bool interrupted) {
  if (record.complete) {
    const bool diverged = std::ranges::any_of(record.steps, [](const auto& step) { return !std::isfinite(step.loss); });
    return diverged ? RunState::kFailed : RunState::kDone;
  }
  // A failure is some rank's, an interruption nobody's.
  return interrupted || (record.failure && !record.failure->rank) ? RunState::kStopped : RunState::kFailed;
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

std::optional<Seconds> Run::median_warm_step() const {
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

RunList::~RunList() { clear(); }

QString RunList::executable() {
  QString given = qEnvironmentVariable("TRAINYARD");
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
  const std::filesystem::path plan_file = plan_beside(start.folder);
  write_plan(start.plan, plan_file);
  Run run;
  run.folder = start.folder;
  run.plan = start.plan;
  run.layout = layout_text(start.plan.layout);
  run.steps = std::min(start.steps, start.plan.training.steps);
  QStringList arguments = {QStringLiteral("run"),      QString::fromStdString(plan_file.string()),
                           QStringLiteral("--data"),   start.data,
                           QStringLiteral("--output"), start.folder,
                           QStringLiteral("--steps"),  QString::number(start.steps)};
  if (!start.profile.isEmpty()) {
    arguments << QStringLiteral("--profile") << start.profile;
  }
  processes_.emplace_back(RunProcess::start(executable(), arguments, start.folder, run.steps));
  runs_.push_back(std::move(run));
  const int index = static_cast<int>(runs_.size()) - 1;
  Q_EMIT run_added(index);
  poll_.start();
  return index;
}

int RunList::open(const QString& folder_or_file) {
  const QFileInfo info(folder_or_file);
  Run run;
  run.folder = info.isDir() ? info.absoluteFilePath() : info.absolutePath();
  const std::filesystem::path record =
      info.isDir() ? files_of(run).record() : std::filesystem::path(info.absoluteFilePath().toStdString());
  std::optional<RunProcess> process = RunProcess::find(run.folder);
  read_plan_of(run);
  if (process) {  // the record is read as it grows
    run.steps = process->steps();
  } else if (std::error_code ignored;
             !std::filesystem::exists(record, ignored) && QFileInfo::exists(run_log(run.folder))) {
    run.state = RunState::kFailed;  // before it began
    run.message = last_words(run.folder);
  } else {
    run.record = read_run_record(record);
    run.trace = trace_of(run);
    run.steps = static_cast<std::int64_t>(run.record.steps.size());
    run.state = RunState::kOpened;
    if (run.record.failure) {
      run.message = QString::fromStdString(run.record.failure->cause);
    }
  }
  runs_.push_back(std::move(run));
  processes_.push_back(std::move(process));
  const int index = static_cast<int>(runs_.size()) - 1;
  Q_EMIT run_added(index);
  poll();
  return index;
}

void RunList::stop(int index) {
  if (std::optional<RunProcess>& process = processes_.at(static_cast<std::size_t>(index))) {
    process->interrupt();
  }
}

void RunList::close(int index) {
  if (std::optional<RunProcess>& process = processes_.at(static_cast<std::size_t>(index));
      process && process->at_work()) {
    process->end(kPatience);
  }
  runs_.erase(runs_.begin() + index);
  processes_.erase(processes_.begin() + index);
  Q_EMIT runs_reset();
}

void RunList::leave() {
  for (std::optional<RunProcess>& process : processes_) {
    process.reset();
  }
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
    if (!processes_[i]) {
      continue;
    }
    const bool at_work = processes_[i]->at_work();  // first: what it has written before its end is read
    read_record(static_cast<int>(i));
    if (!at_work) {
      ended(static_cast<int>(i));
    }
  }
  if (std::ranges::any_of(processes_, [](const auto& process) { return process.has_value(); })) {
    poll_.start();
  } else {
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

void RunList::ended(int index) {
  Run& run = runs_[static_cast<std::size_t>(index)];
  std::optional<RunProcess>& process = processes_[static_cast<std::size_t>(index)];
  run.state = end_state(run.record, process->interrupted());
  process.reset();
  if (run.state == RunState::kFailed) {
    run.message = last_words(run.folder);
  }
  try {
    run.trace = trace_of(run);
  } catch (const Error& error) {
    run.message = QString::fromUtf8(error.what());
  }
  Q_EMIT run_changed(index);
}

}  // namespace trainyard::gui
