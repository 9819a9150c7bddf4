// The docks over a session with a real, small search: what they show is what the simulator says, a selection reaches
// all of them, and a plan that can't run says why.
#include <gtest/gtest.h>

#include <QCoreApplication>
#include <QElapsedTimer>
#include <QRegularExpression>
#include <QTabBar>
#include <QTemporaryDir>
#include <QTest>
#include <cmath>
#include <filesystem>
#include <numeric>
#include <set>

#include <QPushButton>

#include "gui/session/plan_search.h"
#include "gui/session/session.h"
#include "gui/views/explore_plots.h"
#include "gui/views/explore_view.h"
#include "gui/views/memory_rows.h"
#include "gui/views/memory_view.h"
#include "gui/views/reliability_plots.h"
#include "gui/views/reliability_view.h"
#include "gui/views/term_explanations.h"
#include "gui/views/why_view.h"
#include "tests/core/program/tiny_plan.h"
#include "tests/simulator/support/profiles.h"

namespace trainyard::gui {
namespace {

Study small_study() {
  Study study;
  study.model = "llama-3-8b";
  study.machine = "llama3-16k-h100";
  study.ranks = 16;
  study.global_batch = 64;
  study.steps = 100000;
  study.limits.schedule = "1f1b";
  return study;
}

template <class Done>
bool wait_until(const Done& done, int milliseconds = 60000) {
  QElapsedTimer timer;
  timer.start();
  while (!done() && timer.elapsed() < milliseconds) {
    QCoreApplication::processEvents(QEventLoop::AllEvents, 20);
  }
  return done();
}

// Searched once for all tests, by hand: no timers, no second search.
class Docks : public ::testing::Test {
 protected:
  void SetUp() override {
    const OpenedProblem opened = open_problem(small_study());
    ASSERT_TRUE(opened.problem) << (opened.errors.empty() ? "" : opened.errors.front().problem);
    const FoundPlans found = search_plans(*opened.problem, [](const SearchReport&) {}, {});
    session_.analysis().set_problem(opened.problem);
    session_.results().replace(found.plans, found.summary);
    ASSERT_GT(session_.results().plans().size(), 5U);
  }

  std::optional<int> first_that_lacks_memory() const {
    const auto& plans = session_.results().plans();
    for (std::size_t i = 0; i < plans.size(); ++i) {
      if (plans[i].infeasible && plans[i].infeasible->reason == InfeasibleReason::kMemory) {
        return static_cast<int>(i);
      }
    }
    return std::nullopt;
  }

  Session session_;
};

// The first bars end where the next begins, and the last is their sum: the step over the goodput.
TEST_F(Docks, WhyTakesTheWallClockApartSoThatTheBarsAddUp) {
  session_.selection().select_plan(0);
  WhyView view(session_);
  ASSERT_TRUE(wait_until([&] { return session_.reliability().study(0) != nullptr; }));
  view.refresh_now();
  const std::vector<BarRow>& rows = view.waterfall().rows();
  ASSERT_GT(rows.size(), 4U);
  double reached = 0.0;
  for (std::size_t i = 0; i + 1 < rows.size(); ++i) {
    const Bar& bar = rows[i].lines.front().front();
    EXPECT_DOUBLE_EQ(bar.from, reached) << rows[i].name.toStdString();
    reached = bar.to;
  }
  const PlanRow& plan = session_.results().plans().front();
  const double goodput = session_.reliability().study(0)->reliability.goodput;
  EXPECT_NEAR(reached, rows.back().lines.front().front().to, 1e-9 * reached);
  EXPECT_NEAR(reached, plan.step_time.si() / goodput, 1e-6 * reached);
  EXPECT_EQ(view.table()->rowCount(), static_cast<int>(rows.size()));
}

TEST_F(Docks, WhyComparesAWithBLargestDifferenceFirstAndTheDifferencesAddUp) {
  session_.selection().select_plan(0);
  session_.selection().compare(0, 3);
  WhyView view(session_);
  const std::vector<BarRow>& rows = view.difference().rows();
  ASSERT_GT(rows.size(), 1U);
  double sum = 0.0;
  double before = INFINITY;
  for (std::size_t i = 0; i + 1 < rows.size(); ++i) {
    const double change = rows[i].lines.front().front().to;
    EXPECT_LE(std::abs(change), before);
    before = std::abs(change);
    sum += change;
  }
  EXPECT_NEAR(sum, rows.back().lines.front().front().to, 1e-7);
  EXPECT_TRUE(view.summary().contains(QStringLiteral("B against A"))) << view.summary().toStdString();
}

TEST_F(Docks, WhySaysWhyAPlanLostToTheBest) {
  session_.selection().select_plan(4);
  const WhyView view(session_);
  EXPECT_TRUE(view.summary().contains(QRegularExpression(QStringLiteral("slower than the best|About as fast"))))
      << view.summary().toStdString();
}

TEST_F(Docks, ABarOpensItsEquationNumbersAndSource) {
  session_.selection().select_plan(0);
  WhyView view(session_);
  view.explain(static_cast<int>(simulator::StepLoss::kIdeal));
  const QString text = view.explanation();
  EXPECT_TRUE(text.contains(QStringLiteral("FLOPs per token"))) << text.toStdString();
  EXPECT_TRUE(text.contains(QStringLiteral("TFLOP/s")));
  EXPECT_TRUE(text.contains(QStringLiteral("Source")));
}

TEST_F(Docks, APlanThatLacksMemoryIsDrawnOverTheCapacityWithTheAmount) {
  const std::optional<int> plan = first_that_lacks_memory();
  ASSERT_TRUE(plan);
  session_.selection().select_plan(plan);
  const MemoryView memory(session_);
  EXPECT_TRUE(memory.summary().contains(QStringLiteral("is missing"))) << memory.summary().toStdString();
  const auto& rows = memory.stages().rows();
  EXPECT_TRUE(std::any_of(rows.begin(), rows.end(), [](const BarRow& row) { return row.warns; }));
  WhyView why(session_);
  EXPECT_TRUE(why.summary().contains(QStringLiteral("can't run"))) << why.summary().toStdString();
  ASSERT_TRUE(wait_until([&] { return !session_.jobs().busy(); }));
  why.refresh_now();
  EXPECT_TRUE(why.summary().contains(QStringLiteral("fit"))) << why.summary().toStdString();
}

// By formula the plan fits, so that its bars and a formula's advice say nothing against it: what its program lacks is
// said by both docks.
TEST_F(Docks, APlanThatLacksMemoryOnlyAsAProgramSaysSoEverywhere) {
  std::vector<PlanRow> plans = session_.results().plans();
  PlanRow& row = plans.front();
  row.infeasible = Infeasible{InfeasibleReason::kMemory, "stage 1 (rank 4) needs 91.2 GiB of 80.0 GiB", {}, {}};
  row.unfit_as_program = true;
  const SearchSummary summary = session_.results().summary();
  session_.results().replace(std::move(plans), summary);
  session_.selection().select_plan(0);
  MemoryView memory(session_);
  const QString detail = QStringLiteral("needs 91.2 GiB of 80.0 GiB");
  EXPECT_TRUE(memory.summary().contains(detail)) << memory.summary().toStdString();
  EXPECT_TRUE(memory.summary().contains(QStringLiteral("The bars are the formula's")))
      << memory.summary().toStdString();
  memory.show_over_step();
  memory.refresh_now();
  EXPECT_TRUE(memory.over_step().empty_text().contains(detail)) << memory.over_step().empty_text().toStdString();
  WhyView why(session_);
  EXPECT_TRUE(why.summary().contains(detail)) << why.summary().toStdString();
  EXPECT_TRUE(why.summary().contains(QStringLiteral("Take another plan"))) << why.summary().toStdString();
  EXPECT_FALSE(session_.jobs().busy());  // no advice is looked for
}

// A device that is far from full: the bars fill the axis, which ends long before the capacity.
TEST_F(Docks, BarsOfASmallPartOfTheCapacityAreStillSeen) {
  MemoryStack stack;
  stack.name = QStringLiteral("rank 0");
  stack.parts = {{QStringLiteral("Parameters"), QString(), ByteCount(80), 0}};
  stack.total = ByteCount(80);
  const std::vector<MemoryStack> stacks = {stack};
  EXPECT_LT(memory_rows(stacks, ByteCount(10'000), light_theme()).axis.high, 100.0);
  EXPECT_GE(memory_rows(stacks, ByteCount(100), light_theme()).axis.high, 100.0);
}

// Each stage's bars add up to its total, and the fullest is what the search found.
TEST_F(Docks, MemoryStacksAddUpToWhatTheSearchFound) {
  session_.selection().select_plan(1);
  MemoryView view(session_);
  const PlanRow& plan = session_.results().plans()[1];
  const auto& rows = view.stages().rows();
  ASSERT_EQ(static_cast<int>(rows.size()), plan.layout.pipeline);
  double most = 0.0;
  for (const BarRow& row : rows) {
    double reached = 0.0;
    for (const Bar& bar : row.lines.front()) {
      EXPECT_DOUBLE_EQ(bar.from, reached);
      reached = bar.to;
    }
    most = std::max(most, reached);
  }
  EXPECT_DOUBLE_EQ(most, static_cast<double>(plan.memory.value()));
}

TEST_F(Docks, MemoryOverAStepPeaksAtWhatTheProgramNeeds) {
  session_.selection().select_plan(0);
  MemoryView view(session_);
  view.show_over_step();
  view.refresh_now();
  ASSERT_TRUE(wait_until([&] { return session_.analysis().simulation_state(0) != PartState::kComputing; }));
  view.refresh_now();
  const auto simulation = session_.analysis().simulation(0);
  ASSERT_TRUE(simulation) << session_.analysis().simulation_message(0).toStdString();
  double most = 0.0;
  for (const AreaMoment& moment : view.over_step().plot().moments) {
    most = std::max(most, total(moment));
  }
  const double needs = static_cast<double>(simulator::worst(simulation->simulation.memory).total.value());
  // Two streams' buffers may be in use at once a little before or after the order says.
  EXPECT_NEAR(most, needs, 0.05 * needs);
  session_.selection().select_time(TimeSpan{0, 1000});
}

TEST_F(Docks, ABrushOfExploreIsAFilterOfTheResultsAndAClickSelectsEverywhere) {
  ExploreView view(session_);
  const auto& axes = view.axes().plot().axes;
  ASSERT_GT(axes.size(), 3U);
  const double low = axes[0].axis.low;
  Q_EMIT view.axes().brushed(0, low, low);
  ASSERT_TRUE(wait_until([&] { return !session_.results().filters().empty(); }));
  int passing = 0;
  for (std::size_t i = 0; i < session_.results().plans().size(); ++i) {
    passing += session_.results().passes(static_cast<int>(i)) ? 1 : 0;
  }
  EXPECT_EQ(view.table()->rowCount(), passing);
  EXPECT_TRUE(view.axes().brushes()[0].has_value());
  Q_EMIT view.axes().brush_removed(0);
  EXPECT_TRUE(session_.results().filters().empty());
  EXPECT_FALSE(view.axes().brushes()[0].has_value());
  Q_EMIT view.scatter().activated(2);
  EXPECT_EQ(session_.selection().plan(), 2);
}

// The square around step times 0 and 1 of the first plans, as its corners in the order of drawing.
TEST_F(Docks, ALassoOfExploreKeepsWhatItEnclosesAndIsTakenOffAsAFilter) {
  ExploreView view(session_);
  const PlanRow& best = session_.results().plans().front();
  const double time = value_of(best, PlanColumn::kStepTime);
  const double memory = value_of(best, PlanColumn::kMemory);
  const QPolygonF around(QVector<QPointF>{{time * 0.99, memory * 0.99},
                                          {time * 1.01, memory * 0.99},
                                          {time * 1.01, memory * 1.01},
                                          {time * 0.99, memory * 1.01}});
  Q_EMIT view.scatter().lassoed(around);
  ASSERT_TRUE(session_.results().lasso());
  for (std::size_t i = 0; i < session_.results().plans().size(); ++i) {
    const PlanRow& plan = session_.results().plans()[i];
    const double there = value_of(plan, PlanColumn::kStepTime);
    const double needs = value_of(plan, PlanColumn::kMemory);
    const bool inside =
        plan.feasible() && there > time * 0.99 && there < time * 1.01 && needs > memory * 0.99 && needs < memory * 1.01;
    EXPECT_EQ(session_.results().passes(static_cast<int>(i)), inside) << plan.text;
  }
  EXPECT_EQ(view.scatter().lasso().size(), 4);
  EXPECT_EQ(text_of(*session_.results().lasso()), QStringLiteral("lasso over Step time and Memory/rank"));
  session_.results().clear_filters();
  EXPECT_FALSE(session_.results().lasso());
  EXPECT_TRUE(view.scatter().lasso().isEmpty());
}

// Of a hundred plans of which ninety have nearly one value, colours still tell halves apart: by rank.
TEST(ExploreShades, GoByRankNotByValue) {
  std::vector<PlanRow> plans(100);
  std::vector<const PlanRow*> rows;
  for (std::size_t i = 0; i < plans.size(); ++i) {
    plans[i].mfu = i == 99 ? 0.5 : 0.01 + 1e-5 * static_cast<double>(i);
    rows.push_back(&plans[i]);
  }
  const std::vector<double> shades = shades_of(rows, PlanColumn::kMfu);
  EXPECT_DOUBLE_EQ(shades[0], 0.0);
  EXPECT_NEAR(shades[50], 50.0 / 99.0, 1e-12);
  EXPECT_DOUBLE_EQ(shades[99], 1.0);
  EXPECT_EQ(ramp_labels(rows, PlanColumn::kMfu).best, QStringLiteral("50.0 %"));
  // Equal ones share the mean of their places: of 0 to 98 it is 49.
  for (std::size_t i = 0; i < 99; ++i) {
    plans[i].mfu = 0.01;
  }
  EXPECT_NEAR(shades_of(rows, PlanColumn::kMfu)[3], 49.0 / 99.0, 1e-12);
}

TEST_F(Docks, ALowWhyDockShowsTheWholeWaterfallWithTheSmallPartsInOneRow) {
  session_.selection().select_plan(0);
  session_.selection().compare(0, 3);
  WhyView view(session_);
  view.resize(900, 260);
  view.show();
  ASSERT_TRUE(wait_until([&] {
    return view.waterfall().minimumSizeHint().height() <= view.waterfall().height() &&
           view.waterfall().rows().size() > 4;
  }));
  const std::vector<BarRow>& rows = view.waterfall().rows();
  const BarRow& rest = rows[rows.size() - 2];
  EXPECT_TRUE(rest.name.contains(QStringLiteral("smaller parts"))) << rest.name.toStdString();
  for (std::size_t line = 0; line < 2; ++line) {
    double sum = 0.0;
    for (std::size_t i = 0; i + 1 < rows.size(); ++i) {
      sum += rows[i].lines[line].front().to - rows[i].lines[line].front().from;
    }
    EXPECT_NEAR(sum, rows.back().lines[line].front().to, 1e-9 * sum);
  }
  view.explain(kRestId);
  EXPECT_TRUE(view.explanation().contains(QStringLiteral("Smaller parts")));
  EXPECT_GT(view.table()->rowCount(), static_cast<int>(rows.size()));
}

// The row of small differences gathers its own causes, which needn't be those of the waterfall's.
TEST_F(Docks, AClickOnTheSmallerDifferencesNamesTheirCauses) {
  session_.selection().select_plan(0);
  session_.selection().compare(0, 3);
  WhyView view(session_);
  view.resize(900, 260);
  view.show();
  auto* tabs = view.findChild<QTabBar*>();
  ASSERT_NE(tabs, nullptr);
  tabs->setCurrentIndex(1);
  const auto rest = [&] {
    const std::vector<BarRow>& rows = view.difference().rows();
    return std::find_if(rows.begin(), rows.end(),
                        [](const BarRow& row) { return row.name.contains(QStringLiteral("smaller differences")); });
  };
  ASSERT_TRUE(wait_until([&] { return rest() != view.difference().rows().end(); }));
  const std::ptrdiff_t place = rest() - view.difference().rows().begin();
  auto* chart = const_cast<BarRows*>(&view.difference());
  chart->grab();
  ASSERT_EQ(chart->spots().size(), chart->rows().size());
  QTest::mouseClick(chart, Qt::LeftButton, Qt::NoModifier,
                    chart->spots()[static_cast<std::size_t>(place)].area.center().toPoint());
  const QString said = view.explanation();
  EXPECT_TRUE(said.contains(QStringLiteral("Smaller differences"))) << said.toStdString();
  const auto ids_on = [&] {
    std::set<int> ids;
    for (const BarRow& row : view.difference().rows()) {
      ids.insert(row.lines.front().front().id);
    }
    return ids;
  };
  const std::set<int> shown = ids_on();
  std::vector<simulator::WaterfallCause> causes;
  for (int i = 0; i < simulator::kStepLosses; ++i) {
    causes.emplace_back(static_cast<simulator::StepLoss>(i));
  }
  for (std::size_t i = 0; i < simulator::kTimeUses; ++i) {
    causes.emplace_back(static_cast<simulator::TimeUse>(i));
  }
  int gathered = 0;
  for (const simulator::WaterfallCause& cause : causes) {
    if (said.contains(explanation_of(cause).name)) {
      EXPECT_FALSE(shown.contains(id_of(cause))) << explanation_of(cause).name.toStdString();
      ++gathered;
    }
  }
  EXPECT_GT(gathered, 0) << said.toStdString();
}

// A mean time said by hand is of this job: no fleets to lie apart. A profile's is a band.
TEST_F(Docks, TheBandOfFleetsIsThePublishedProfilesAlone) {
  Study study = small_study();
  const PlanRow& row = session_.results().plans().front();
  simulator::StudyRequest quick;
  quick.runs = 0;
  for (const bool said : {false, true}) {
    study.mean_time_between_failures = said ? "1 h" : "";
    const auto of = job_case(*open_problem(study).problem, row);
    ASSERT_TRUE(of);
    const LinePlot plot = scale_plot(simulator::study_reliability(*of, quick), study.ranks, light_theme());
    ASSERT_FALSE(plot.lines.empty());
    for (const LinePoint& point : plot.lines.front().points) {
      EXPECT_EQ(point.low == point.high, said);
      EXPECT_LE(point.low, point.y);
      EXPECT_GE(point.high, point.y);
    }
  }
}

TEST_F(Docks, ReliabilityShowsTheSimulatorsNumbers) {
  session_.selection().select_plan(0);
  ReliabilityView view(session_);
  ASSERT_TRUE(wait_until([&] {
    view.refresh_now();
    return session_.reliability().state(0, true) == PartState::kReady;
  }));
  view.refresh_now();
  const auto study = session_.reliability().study(0);
  ASSERT_TRUE(study && study->simulated);
  EXPECT_EQ(view.intervals().plot().marks.front().y, study->reliability.goodput);
  EXPECT_EQ(view.scales().plot().lines.front().points.size(), study->scales.size());
  EXPECT_FALSE(view.month().plot().stretches.empty());
  ASSERT_EQ(view.spread().rows().size(), 2U);
  // From all of the wall clock down: the wastes and the goodput add up to 1.
  double wasted = 0.0;
  for (std::size_t i = 0; i + 1 < view.waste().rows().size(); ++i) {
    const Bar& bar = view.waste().rows()[i].lines.front().front();
    wasted += bar.from - bar.to;
  }
  EXPECT_NEAR(wasted + view.waste().rows().back().lines.front().front().to, 1.0, 1e-9);
  EXPECT_TRUE(view.summary().contains(QStringLiteral("llama3-h100")));
}

TEST_F(Docks, AReliabilityJobThatIsCancelledIsNotWaitedFor) {
  session_.reliability().request(0, true);
  ASSERT_EQ(session_.reliability().state(0, true), PartState::kComputing);
  session_.jobs().cancel(session_.jobs().jobs().back().id);
  ASSERT_TRUE(wait_until([&] { return session_.reliability().state(0, true) == PartState::kFailed; }));
  EXPECT_TRUE(session_.reliability().message(0).contains(QStringLiteral("Cancelled")));
}

TEST_F(Docks, ASimulationThatIsCancelledIsNotWaitedFor) {
  session_.analysis().request_simulation(0);
  ASSERT_EQ(session_.analysis().simulation_state(0), PartState::kComputing);
  session_.jobs().cancel(session_.jobs().jobs().back().id);
  ASSERT_TRUE(wait_until([&] { return session_.analysis().simulation_state(0) == PartState::kFailed; }));
  EXPECT_TRUE(session_.analysis().simulation_message(0).contains(QStringLiteral("Cancelled")));
}

TEST_F(Docks, WithoutPlansEachDockSaysWhatToDo) {
  session_.results().clear();
  session_.selection().select_plan(std::nullopt);
  WhyView why(session_);
  MemoryView memory(session_);
  ExploreView explore(session_);
  ReliabilityView reliability(session_);
  for (const QString& text : {why.waterfall().empty_text(), memory.stages().empty_text(), explore.axes().empty_text(),
                              reliability.month().empty_text()}) {
    EXPECT_TRUE(text.contains(QStringLiteral("Inputs"))) << text.toStdString();
  }
}

TEST_F(Docks, EachDockHasAPictureAndATableToSave) {
  session_.selection().select_plan(0);
  const QTemporaryDir folder;
  WhyView why(session_);
  MemoryView memory(session_);
  ExploreView explore(session_);
  for (View* view : {static_cast<View*>(&why), static_cast<View*>(&memory), static_cast<View*>(&explore)}) {
    view->resize(800, 600);
    const QString svg = folder.filePath(view->name() + QStringLiteral(".svg"));
    const QString csv = folder.filePath(view->name() + QStringLiteral(".csv"));
    view->export_svg(svg);
    ASSERT_NE(view->table(), nullptr);
    export_csv(*view->table(), csv);
    EXPECT_GT(std::filesystem::file_size(svg.toStdString()), 1000U);
    EXPECT_GT(view->table()->rowCount(), 1);
    EXPECT_FALSE(view->accessibleName().isEmpty());
  }
}

// A tiny model on a machine whose profile was measured: plans are simulated to be taken apart.
TEST(DocksOnThisMachine, WhyAndMemoryGoByTheSimulatedProgram) {
  auto problem = std::make_shared<Problem>();
  const Plan plan = testing::tiny_plan(Layout());
  problem->model = plan.model;
  problem->training = plan.training;
  problem->profile = simulator::small_machine();
  problem->study.machine = kThisMachine;
  problem->study.ranks = 2;
  Session session;
  const FoundPlans found = search_plans(*problem, [](const SearchReport&) {}, {});
  session.analysis().set_problem(problem);
  session.results().replace(found.plans, found.summary);
  ASSERT_FALSE(session.results().plans().empty());
  ASSERT_TRUE(session.results().plans().front().feasible());
  session.selection().select_plan(0);
  WhyView why(session);
  MemoryView memory(session);
  ASSERT_TRUE(wait_until([&] { return session.analysis().simulation(0) != nullptr; }))
      << session.analysis().simulation_message(0).toStdString();
  why.refresh_now();
  memory.refresh_now();
  const auto simulation = session.analysis().simulation(0);
  ASSERT_FALSE(why.waterfall().is_empty()) << why.summary().toStdString();
  const double wall = why.waterfall().rows().back().lines.front().front().to;
  EXPECT_NEAR(wall, to_seconds(simulation->simulation.step.duration).si(), 1e-9 + 1e-6 * wall);
  EXPECT_EQ(memory.stages().rows().size(), simulation->simulation.memory.size());
  ReliabilityView reliability(session);
  EXPECT_TRUE(reliability.summary().contains(QStringLiteral("this machine"))) << reliability.summary().toStdString();
  // The button fills the field of Inputs that lacks.
  EXPECT_FALSE(reliability.assume().isHidden());
  reliability.assume().click();
  EXPECT_EQ(session.document().study().mean_time_between_failures, "1 h");
}

// With a time between failures a plan of this machine has an answer: that of `trainyard reliability --plan plan.json
// --mean-time-between-failures "1 h"`, whose mean time is the one that was said.
TEST(DocksOnThisMachine, ReliabilityAnswersOnceATimeBetweenFailuresIsSaid) {
  auto problem = std::make_shared<Problem>();
  const Plan plan = testing::tiny_plan(Layout());
  problem->model = plan.model;
  problem->training = plan.training;
  problem->training.steps = 200;
  problem->profile = simulator::small_machine();
  problem->study.machine = kThisMachine;
  problem->study.ranks = 2;
  problem->mean_time_between_failures = from_si<Seconds>(3600.0);
  problem->failures = simulator::open_failure_profile("none");
  Session session;
  const FoundPlans found = search_plans(*problem, [](const SearchReport&) {}, {});
  session.analysis().set_problem(problem);
  SearchSummary summary = found.summary;
  summary.finished = true;
  session.results().replace(found.plans, summary);
  session.selection().select_plan(0);
  ReliabilityView view(session);
  ASSERT_TRUE(wait_until([&] {
    view.refresh_now();
    return session.reliability().state(0, true) == PartState::kReady ||
           session.reliability().state(0, true) == PartState::kFailed;
  }));
  view.refresh_now();
  const auto study = session.reliability().study(0);
  ASSERT_TRUE(study) << session.reliability().message(0).toStdString();
  EXPECT_NEAR(study->reliability.mttf.si(), 3600.0, 1e-6);
  EXPECT_TRUE(view.assume().isHidden());
  EXPECT_FALSE(view.waste().is_empty());
  EXPECT_TRUE(view.summary().contains(QStringLiteral("as Inputs say"))) << view.summary().toStdString();
}

// Sources name files of ours that are there.
TEST(TermExplanations, EveryTermHasWordsAnEquationAndASourceThatExists) {
  std::vector<Explanation> all;
  for (int i = 0; i < simulator::kStepLosses; ++i) {
    all.push_back(explanation_of(simulator::WaterfallCause(static_cast<simulator::StepLoss>(i))));
  }
  for (std::size_t i = 0; i < simulator::kTimeUses; ++i) {
    all.push_back(explanation_of(simulator::WaterfallCause(static_cast<simulator::TimeUse>(i))));
  }
  for (int i = 0; i < simulator::kMemoryUses; ++i) {
    all.push_back(explanation_of(static_cast<simulator::MemoryUse>(i)));
  }
  for (int i = 0; i < kMemoryCauses; ++i) {
    all.push_back(explanation_of(static_cast<MemoryCause>(i)));
  }
  const QRegularExpression file(QStringLiteral("(core|simulator|docs)/[a-z_0-9/]+\\.(h|cpp|md)"));
  for (const Explanation& one : all) {
    EXPECT_FALSE(one.name.isEmpty() || one.meaning.isEmpty() || one.formula.isEmpty()) << one.name.toStdString();
    bool found = false;
    for (auto match = file.globalMatch(one.source); match.hasNext();) {
      const std::string path = match.next().captured().toStdString();
      EXPECT_TRUE(std::filesystem::exists(std::string(TRAINYARD_SOURCE_DIR) + "/" + path)) << path;
      found = true;
    }
    EXPECT_TRUE(found) << one.source.toStdString();
  }
}

}  // namespace
}  // namespace trainyard::gui
