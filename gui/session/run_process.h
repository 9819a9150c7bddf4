// RunProcess: a `trainyard run` at work, begun by this window or by one that has been closed since.
//
// It outlives its window: it has a session of its own and writes what it says to a file. Another file says which
// process it is: its number, and when it began, in ticks since a boot, by which a number that has gone to another
// process is told apart. Nobody else's process is ever signalled.
//
//   FOLDER.process.json    {"pid": 4711, "began": 8147001, "boot": "16b6a057-...", "steps": 20}
//   FOLDER.log             what it said
//
// Source: proc(5), stat, field 22; pidfd_open(2).
#pragma once

#include <QString>
#include <QStringList>
#include <chrono>
#include <cstdint>
#include <optional>

#include "executor/supervisor/file_descriptor.h"

namespace trainyard::gui {

class RunProcess {
 public:
  // Of `trainyard run` in a folder that is new, for so many steps. Throws Error where it can't be started.
  static RunProcess start(const QString& program, const QStringList& arguments, const QString& folder,
                          std::int64_t steps);
  // The one that is at work in the folder, begun by a window; none otherwise.
  static std::optional<RunProcess> find(const QString& folder);

  bool at_work() const;
  std::int64_t steps() const { return steps_; }
  void interrupt();                                  // as Ctrl+C: the launcher ends its ranks
  bool interrupted() const { return interrupted_; }  // from here
  void end(std::chrono::milliseconds patience);      // interrupts it, and kills it after so long

 private:
  RunProcess() = default;
  bool ended_within(std::chrono::milliseconds time) const;
  void signal(int number) const;

  executor::FileDescriptor process_;  // none: it ended before it could be held
  std::int64_t steps_ = 0;
  bool interrupted_ = false;
};

QString run_log(const QString& folder);  // the file that holds what the run said

}  // namespace trainyard::gui
