// RunList: the runs of the study: those started here, followed as they go, and records opened from elsewhere.
//
// A run is a process of its own (run_process.h), so that neither takes the other along; what is known of it is in its
// folder: plan.json, record.jsonl, trace.json (executor/run/run_files.h). One that a closed window has left at work is
// followed again when its folder is opened.
#pragma once

#include <QObject>
#include <QString>
#include <QTimer>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/plan/plan.h"
#include "core/plan/run_record.h"
#include "core/plan/trace.h"
#include "gui/session/run_process.h"

namespace trainyard::gui {

enum class RunState : std::uint8_t { kStarting, kRunning, kDone, kFailed, kStopped, kOpened };
QString to_text(RunState state);

struct Run {
  QString folder;
  std::optional<Plan> plan;
  std::string layout;  // layout_text() of it; empty: not known
  RunRecord record;    // as far as it has come
  RunState state = RunState::kStarting;
  QString message;                     // what failed
  std::int64_t steps = 0;              // that it will take
  std::shared_ptr<const Trace> trace;  // measured, once it is there

  // Of the steps after the first, which warms up; of the first where there is no other.
  std::optional<Seconds> median_warm_step() const;
  std::optional<Seconds> predicted_step() const;
};

class RunList : public QObject {
  Q_OBJECT

 public:
  explicit RunList(QObject* parent = nullptr);
  ~RunList() override;

  struct Start {
    Plan plan;
    QString folder;  // new
    QString data;    // text
    std::int64_t steps = 0;
    QString profile;  // of this machine, for the MFU; empty: none
  };

  const std::vector<Run>& runs() const { return runs_; }
  // The newest that ran this layout and has a trace; null: none.
  const Run* measured(const std::string& layout) const;
  int start(const Start& start);            // throws Error where it can't be started; gives its place
  int open(const QString& folder_or_file);  // throws Error; a run that is at work there is followed
  void stop(int index);
  void close(int index);  // out of the list, and ended if it is at work; the files stay
  void clear();
  void leave();  // those at work go on without the window
  bool any_running() const;

  // The `trainyard` beside this program, or $TRAINYARD.
  static QString executable();

 Q_SIGNALS:
  void run_added(int index);
  void run_changed(int index);
  void runs_reset();

 private:
  void poll();
  void read_record(int index);
  void ended(int index);

  std::vector<Run> runs_;
  std::vector<std::optional<RunProcess>> processes_;  // by run; nothing: none is at work, or it was left
  QTimer poll_;
};

}  // namespace trainyard::gui
