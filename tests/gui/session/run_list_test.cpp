// Runs as processes: followed, left at work, found again, ended; and nobody else's.
#include "gui/session/run_list.h"

#include <gtest/gtest.h>

#include <QProcess>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "core/document/read_file.h"
#include "core/error.h"
#include "tests/gui/session/short_run.h"

namespace trainyard::gui {
namespace {

class Runs : public testing::Test {
 protected:
  RunList::Start many_steps() { return tiny_run(folder_, "run", kManySteps); }
  bool at_work() const { return RunProcess::find(run_folder()).has_value(); }
  QString run_folder() const { return QString::fromStdString(folder_.path("run")); }

  TestFolder folder_;
};

// The first window is closed, a second opens the study: the same process goes on and its steps are seen.
TEST_F(Runs, OneThatIsLeftGoesOnAndIsFollowedAgain) {
  std::size_t before = 0;
  {
    RunList first;
    first.start(many_steps());
    ASSERT_TRUE(wait_for_step(first, 2));
    before = first.runs().front().record.steps.size();
    first.leave();
  }
  ASSERT_TRUE(at_work());
  RunList second;
  const int index = second.open(run_folder());
  EXPECT_TRUE(second.any_running());
  EXPECT_EQ(second.runs().front().steps, kManySteps);
  ASSERT_TRUE(second.runs().front().plan);
  ASSERT_TRUE(wait_for_step(second, before + 2));
  EXPECT_EQ(second.runs().front().state, RunState::kRunning);
  second.stop(index);
  ASSERT_TRUE(wait_for([&] { return !second.any_running(); }));
  EXPECT_EQ(second.runs().front().state, RunState::kStopped) << second.runs().front().message.toStdString();
  EXPECT_FALSE(at_work());
}

// Another window's Stop is no failure: the record says that it was interrupted.
TEST_F(Runs, OneThatAnotherWindowStopsIsStoppedHereToo) {
  RunList here;
  RunList there;
  here.start(many_steps());
  ASSERT_TRUE(wait_for_step(here, 1));
  there.stop(there.open(run_folder()));
  ASSERT_TRUE(wait_for([&] { return !here.any_running(); }));
  EXPECT_EQ(here.runs().front().state, RunState::kStopped) << here.runs().front().message.toStdString();
}

TEST_F(Runs, OneThatIsNotLeftEndsWithItsList) {
  {
    RunList runs;
    runs.start(many_steps());
    ASSERT_TRUE(wait_for_step(runs, 1));
  }
  EXPECT_FALSE(at_work());
}

TEST_F(Runs, OneThatHasEndedIsARecord) {
  RunList runs;
  runs.start(tiny_run(folder_, "run", 2));
  ASSERT_TRUE(wait_for([&] { return !runs.any_running(); }));
  EXPECT_EQ(runs.runs().front().state, RunState::kDone) << runs.runs().front().message.toStdString();
  EXPECT_NE(runs.runs().front().trace, nullptr);
  RunList later;
  later.open(run_folder());
  EXPECT_EQ(later.runs().front().state, RunState::kOpened);
  EXPECT_EQ(later.runs().front().record.steps.size(), 2U);
}

TEST_F(Runs, OneThatCannotBeginSaysWhyNowAndLater) {
  RunList::Start start = many_steps();
  start.data = QString::fromStdString(folder_.path("nowhere.txt"));
  RunList runs;
  runs.start(start);
  ASSERT_TRUE(wait_for([&] { return !runs.any_running(); }));
  EXPECT_EQ(runs.runs().front().state, RunState::kFailed);
  EXPECT_TRUE(runs.runs().front().message.contains(QStringLiteral("nowhere.txt")))
      << runs.runs().front().message.toStdString();
  std::filesystem::create_directory(run_folder().toStdString());
  RunList later;
  later.open(run_folder());
  EXPECT_EQ(later.runs().front().state, RunState::kFailed);
  EXPECT_EQ(later.runs().front().message, runs.runs().front().message);
}

TEST_F(Runs, AProgramThatIsNotThereIsAnErrorAndNoRun) {
  const QByteArray before = qgetenv("TRAINYARD");
  qputenv("TRAINYARD", "/nowhere/trainyard");
  RunList runs;
  EXPECT_THROW(runs.start(many_steps()), Error);
  EXPECT_TRUE(runs.runs().empty());
  qputenv("TRAINYARD", before);
}

// A number that the system has given to another process since: it began later, or after another boot.
TEST_F(Runs, AProcessThatIsNotTheRunsIsLeftAlone) {
  RunList runs;
  runs.start(tiny_run(folder_, "run", 2));
  const std::string file = folder_.path("run.process.json");
  ASSERT_TRUE(wait_for([&] { return !runs.any_running(); }));
  const auto written = nlohmann::json::parse(read_text_file(file));
  QProcess other;
  other.start(QStringLiteral("sleep"), {QStringLiteral("60")});
  ASSERT_TRUE(other.waitForStarted());
  auto later = written;
  later["pid"] = other.processId();
  QFile stat(QStringLiteral("/proc/%1/stat").arg(other.processId()));
  ASSERT_TRUE(stat.open(QIODevice::ReadOnly));
  const QList<QByteArray> fields = stat.readAll().split(' ');
  auto before_boot = later;
  before_boot["began"] = fields.at(21).toULongLong();  // its own: only the boot tells it apart
  before_boot["boot"] = "00000000-0000-0000-0000-000000000000";
  for (const auto& identity : {later, before_boot}) {
    write_file(file, identity.dump());
    RunList opened;
    opened.stop(opened.open(run_folder()));
    EXPECT_EQ(opened.runs().front().state, RunState::kOpened);
    opened.clear();
    EXPECT_FALSE(other.waitForFinished(100));
  }
  // With its own boot it would be taken for the run: what was written decides, and nothing else.
  before_boot["boot"] = written["boot"];
  write_file(file, before_boot.dump());
  EXPECT_TRUE(at_work());
  other.kill();
  other.waitForFinished();
}

}  // namespace
}  // namespace trainyard::gui
