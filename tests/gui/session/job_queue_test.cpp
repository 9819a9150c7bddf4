#include "gui/session/job_queue.h"

#include <gtest/gtest.h>

#include <QAbstractItemModelTester>
#include <QThread>
#include <atomic>
#include <memory>

#include "core/error.h"
#include "gui/models/jobs_model.h"
#include "tests/gui/support.h"

namespace trainyard::gui {
namespace {

TEST(JobQueue, RunsOffTheWindowsThreadAndAnswersOnIt) {
  JobQueue jobs;
  JobsModel model(jobs);
  const QAbstractItemModelTester tester(&model, QAbstractItemModelTester::FailureReportingMode::Fatal);
  QObject owner;
  QThread* worked_on = nullptr;
  std::optional<int> answer;
  QThread* answered_on = nullptr;
  jobs.start<int>(
      &owner, "adding",
      [&](JobContext& job) {
        worked_on = QThread::currentThread();
        job.progress(1.0, "nearly");
        return 42;
      },
      [&](int value) {
        answer = value;
        answered_on = QThread::currentThread();
      });
  ASSERT_TRUE(wait_for([&] { return answer.has_value(); }));
  EXPECT_EQ(*answer, 42);
  EXPECT_NE(worked_on, QThread::currentThread());
  EXPECT_EQ(answered_on, QThread::currentThread());
  EXPECT_FALSE(jobs.busy());
  EXPECT_EQ(model.index(0, JobsModel::kTitle).data().toString(), "adding");
  EXPECT_EQ(model.index(0, JobsModel::kProgress).data().toString(), "done");
}

TEST(JobQueue, ShowsAnErrorWithItsWayOut) {
  JobQueue jobs;
  QObject owner;
  std::optional<Failure> failure;
  jobs.start<int>(
      &owner, "failing", [](JobContext&) -> int { throw Error("is missing", "a.json", "give one"); }, [](int) {},
      [&](const Failure& said) { failure = said; });
  ASSERT_TRUE(wait_for([&] { return failure.has_value(); }));
  EXPECT_EQ(failure->text(), "a.json: is missing\ngive one");
  EXPECT_EQ(jobs.jobs().back().state, JobState::kFailed);
}

TEST(JobQueue, ACancelledJobSeesTheStopAndAnswersNobody) {
  JobQueue jobs;
  QObject owner;
  bool answered = false;
  std::atomic<bool> running = false;
  const JobId id = jobs.start<int>(
      &owner, "long",
      [&](JobContext& job) {
        running = true;
        while (!job.stop().stop_requested()) {
          QThread::msleep(1);
        }
        return 1;
      },
      [&](int) { answered = true; });
  ASSERT_TRUE(wait_for([&] { return running.load(); }));
  jobs.cancel(id);
  ASSERT_TRUE(wait_for([&] { return !jobs.busy(); }));
  EXPECT_FALSE(answered);
  EXPECT_EQ(jobs.jobs().back().state, JobState::kCancelled);
}

TEST(JobQueue, NobodyIsAnsweredWhoIsGone) {
  JobQueue jobs;
  auto owner = std::make_unique<QObject>();
  std::atomic<bool> go = false;
  bool answered = false;
  jobs.start<int>(
      owner.get(), "orphan",
      [&](JobContext&) {
        while (!go) {
          QThread::msleep(1);
        }
        return 1;
      },
      [&](int) { answered = true; });
  owner.reset();
  go = true;
  ASSERT_TRUE(wait_for([&] { return !jobs.busy(); }));
  EXPECT_FALSE(answered);
}

}  // namespace
}  // namespace trainyard::gui
