// Timeline and Topology on one session: a plan is selected, simulated and shown; what one view selects the other marks.
#include <gtest/gtest.h>

#include <QApplication>
#include <QDeadlineTimer>
#include <QImage>
#include <QTemporaryDir>
#include <QTest>
#include <algorithm>
#include <functional>
#include <nlohmann/json.hpp>

#include "core/document/read_file.h"
#include "core/layout/layout_text.h"
#include "core/plan/trace.h"
#include "gui/session/session.h"
#include "gui/views/timeline_view.h"
#include "gui/views/topology_view.h"
#include "tests/support/error_of.h"

namespace trainyard::gui {
namespace {

constexpr int kPatienceMs = 120'000;

bool comes_true(const std::function<bool()>& condition) {
  const QDeadlineTimer deadline(kPatienceMs);
  while (!condition() && !deadline.hasExpired()) {
    QTest::qWait(20);
  }
  return condition();
}

class PlanViews : public testing::Test {
 protected:
  void SetUp() override {
    Study study;
    study.machine = "superpod-h100:su=1";
    study.ranks = 32;
    study.global_batch = 64;
    problem_ = open_problem(study).problem;
    ASSERT_NE(problem_, nullptr);
    Layout layout = problem_->base;
    layout.tensor = 4;
    layout.pipeline = 4;
    layout.data = 2;
    layout.accumulation = 32;
    layout.zero_stage = 1;
    session_.analysis().set_problem(problem_);
    PlanRow row;
    row.layout = layout;
    row.text = layout_text(layout);
    PlanRow hopeless;
    hopeless.text = "hopeless";
    hopeless.infeasible = Infeasible{};
    hopeless.infeasible->detail = "needs 900 GiB of 80";
    session_.results().replace({row, hopeless}, {});
  }
  std::shared_ptr<const Problem> problem_;
  Session session_;
};

TEST_F(PlanViews, SayWhyTheyAreEmpty) {
  session_.selection().select_plan(std::nullopt);  // the session selects the best of new results
  TimelineView timeline(session_);
  TopologyView topology(session_);
  timeline.show();
  topology.show();
  EXPECT_TRUE(timeline.message().contains(QStringLiteral("Choose one in Plans"))) << timeline.message().toStdString();
  EXPECT_TRUE(comes_true([&] { return topology.summary().contains(QStringLiteral("Select a plan")); }));
  EXPECT_EQ(error_of([&] { timeline.export_chrome_trace(QStringLiteral("/nowhere")); }).problem(), "nothing to write");
  session_.selection().select_plan(1);
  EXPECT_TRUE(timeline.message().contains(QStringLiteral("900 GiB"))) << timeline.message().toStdString();
}

TEST_F(PlanViews, ASelectedPlanIsSimulatedAndShownAndSelectionsAreShared) {
  TimelineView timeline(session_);
  TopologyView topology(session_);
  timeline.resize(900, 500);
  topology.resize(900, 600);
  timeline.show();
  topology.show();
  session_.selection().select_plan(0);
  ASSERT_TRUE(comes_true([&] { return !timeline.timeline().rows().rows().empty(); }))
      << timeline.message().toStdString();
  ASSERT_TRUE(comes_true([&] { return topology.topology().links().known(); })) << topology.summary().toStdString();

  // A slice of the last stage: its time and its 8 ranks, marked on the cluster.
  const std::size_t row = timeline.timeline().rows().rows().size() - 1;
  timeline.timeline().select_slice(SliceRef{row, 0}, true);
  EXPECT_EQ(session_.selection().ranks().size(), 8U);
  EXPECT_EQ(topology.topology().ranks(), session_.selection().ranks());
  ASSERT_TRUE(session_.selection().time());
  EXPECT_EQ(session_.selection().time()->begin, timeline.timeline().rows().mark({row, 0}).begin);

  // The table twins hold what is drawn.
  EXPECT_GT(timeline.table()->rowCount(), 0);
  EXPECT_GT(topology.table()->rowCount(), 0);

  // The trace can be written and holds every slice that was simulated.
  QTemporaryDir folder;
  const QString file = folder.filePath(QStringLiteral("step.json"));
  timeline.export_chrome_trace(file);
  const nlohmann::json written = nlohmann::json::parse(read_text_file(file.toStdString()));
  const auto& events = written.at("traceEvents");
  EXPECT_EQ(std::count_if(events.begin(), events.end(), [](const auto& event) { return event.at("ph") == "X"; }),
            static_cast<std::ptrdiff_t>(timeline.timeline().rows().source().predicted->slices.size()));
  timeline.export_svg(folder.filePath(QStringLiteral("step.svg")));
  topology.export_png(folder.filePath(QStringLiteral("cluster.png")));
  EXPECT_FALSE(QImage(folder.filePath(QStringLiteral("cluster.png"))).isNull());

  // What if a leaf fails: said below the picture; its links are the selection.
  const Cluster& cluster = *problem_->cluster;
  const ClusterPicture& picture = *topology.topology().picture();
  const VertexId leaf = cluster.of_kind(VertexKind::kLeaf).front();
  const QPointF at = to_pixel(topology.topology().view(), picture.anchor(leaf), topology.topology().size());
  QTest::mouseClick(&topology.topology(), Qt::LeftButton, {}, at.toPoint());
  EXPECT_FALSE(session_.selection().links().empty());
  EXPECT_TRUE(comes_true([&] {
    return topology.effect().contains(QStringLiteral("What if su0/leaf0 fails")) &&
           !topology.effect().contains(QStringLiteral("computing"));
  })) << topology.effect().toStdString();
  EXPECT_TRUE(topology.effect().contains(QStringLiteral("instead of")) ||
              topology.effect().contains(QStringLiteral("as fast as before")))
      << topology.effect().toStdString();
}

}  // namespace
}  // namespace trainyard::gui
