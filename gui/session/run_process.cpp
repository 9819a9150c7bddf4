#include "gui/session/run_process.h"

#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <QFile>
#include <QProcess>
#include <cerrno>
#include <nlohmann/json.hpp>
#include <string>

#include "core/document/read_file.h"
#include "core/document/write_file.h"
#include "core/error.h"

namespace trainyard::gui {

namespace {

// Which process a number stands for: a later one with the same number began later, or after another boot.
struct Identity {
  pid_t pid = 0;
  std::uint64_t began = 0;  // ticks since the boot
  std::string boot;
  std::int64_t steps = 0;  // that it was asked for

  bool same_process(const Identity& other) const {
    return pid == other.pid && began == other.began && boot == other.boot;
  }
};

QString identity_file(const QString& folder) { return folder + QStringLiteral(".process.json"); }

std::optional<Identity> identity_of(pid_t pid) {
  QFile stat(QStringLiteral("/proc/%1/stat").arg(pid));
  QFile boot(QStringLiteral("/proc/sys/kernel/random/boot_id"));
  if (!stat.open(QIODevice::ReadOnly) || !boot.open(QIODevice::ReadOnly)) {
    return std::nullopt;
  }
  // The name, in brackets, may hold blanks: the third field is the first behind it.
  const QByteArray line = stat.readAll();
  const QList<QByteArray> fields = line.mid(line.lastIndexOf(')') + 2).split(' ');
  constexpr qsizetype kBegan = 22 - 3;
  bool number = false;
  const std::uint64_t began = fields.value(kBegan).toULongLong(&number);
  return number ? std::optional(Identity{pid, began, boot.readAll().trimmed().toStdString(), 0}) : std::nullopt;
}

std::optional<Identity> read_identity(const QString& folder) {
  try {
    const auto json = nlohmann::json::parse(read_text_file(identity_file(folder).toStdString()));
    return Identity{json.at("pid").get<pid_t>(), json.at("began").get<std::uint64_t>(),
                    json.at("boot").get<std::string>(), json.at("steps").get<std::int64_t>()};
  } catch (const Error&) {
    return std::nullopt;  // no window has begun it
  } catch (const nlohmann::json::exception&) {
    return std::nullopt;
  }
}

void write_identity(const QString& folder, const Identity& identity) {
  const nlohmann::json json = {
      {"pid", identity.pid}, {"began", identity.began}, {"boot", identity.boot}, {"steps", identity.steps}};
  write_file(identity_file(folder).toStdString(), json.dump() + "\n");
}

// Held first and looked at then: what is held stays the same process.
executor::FileDescriptor held(const Identity& identity) {
  if (identity.pid <= 0) {
    return {};
  }
  // The header of glibc 2.36 lacks extern "C".
  executor::FileDescriptor process(static_cast<int>(::syscall(SYS_pidfd_open, identity.pid, 0)));
  const std::optional<Identity> now = identity_of(identity.pid);
  return process.open() && now && now->same_process(identity) ? std::move(process) : executor::FileDescriptor();
}

}  // namespace

QString run_log(const QString& folder) { return folder + QStringLiteral(".log"); }

RunProcess RunProcess::start(const QString& program, const QStringList& arguments, const QString& folder,
                             std::int64_t steps) {
  QProcess command;
  command.setProgram(program);
  command.setArguments(arguments);
  command.setStandardInputFile(QProcess::nullDevice());
  command.setStandardOutputFile(QProcess::nullDevice());
  command.setStandardErrorFile(run_log(folder));
  qint64 pid = 0;
  if (!command.startDetached(&pid)) {
    throw Error("can't be started", program.toStdString(), "set $TRAINYARD to the trainyard command");
  }
  RunProcess process;
  process.steps_ = steps;
  if (std::optional<Identity> identity = identity_of(static_cast<pid_t>(pid))) {
    process.process_ = held(*identity);
    identity->steps = steps;
    try {
      write_identity(folder, *identity);
    } catch (const Error&) {  // nobody would find it again
      process.end(std::chrono::seconds(0));
      throw;
    }
  }
  return process;
}

std::optional<RunProcess> RunProcess::find(const QString& folder) {
  const std::optional<Identity> identity = read_identity(folder);
  if (!identity) {
    return std::nullopt;
  }
  RunProcess process;
  process.process_ = held(*identity);
  process.steps_ = identity->steps;
  return process.at_work() ? std::optional(std::move(process)) : std::nullopt;
}

bool RunProcess::at_work() const { return process_.open() && !ended_within(std::chrono::milliseconds(0)); }

bool RunProcess::ended_within(std::chrono::milliseconds time) const {
  pollfd polled{process_.number(), POLLIN, 0};
  return !process_.open() || ::poll(&polled, 1, static_cast<int>(time.count())) > 0;
}

void RunProcess::signal(int number) const {
  if (process_.open()) {
    ::syscall(SYS_pidfd_send_signal, process_.number(), number, nullptr, 0);
  }
}

void RunProcess::interrupt() {
  interrupted_ = true;
  signal(SIGINT);
}

void RunProcess::end(std::chrono::milliseconds patience) {
  interrupt();
  if (!ended_within(patience)) {
    signal(SIGKILL);  // its ranks go with it
    ended_within(patience);
  }
}

}  // namespace trainyard::gui
