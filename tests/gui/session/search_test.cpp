// The search behind the window: streams, stops, begins anew after edits, says what is wrong at the field.
#include "gui/session/search.h"

#include <gtest/gtest.h>

#include <QAbstractItemModelTester>
#include <QSignalSpy>
#include <algorithm>
#include <set>

#include "core/document/read_file.h"
#include "core/document/write_file.h"
#include "core/plan/device_profile.h"
#include "core/plan/shipped.h"
#include "gui/models/plans_model.h"
#include "gui/session/problem.h"
#include "gui/session/session.h"
#include "simulator/planner/planner.h"
#include "simulator/planner/program_fit.h"
#include "tests/gui/support.h"
#include "tests/simulator/support/profiles.h"
#include "tests/support/temporary_folder.h"

namespace trainyard::gui {
namespace {

Study small_study() {
  Study study;
  study.model = "llama-3-8b";
  study.machine = "dgx-h100-superpod";
  study.ranks = 16;
  study.global_batch = 64;
  study.failures.clear();
  return study;
}

bool searched(Session& session) {
  return wait_for([&] { return session.results().summary().finished && !session.search().running(); });
}

TEST(Search, FindsPlansAndKeepsTheTableInStep) {
  Session session;
  PlansModel model(session);
  PlansFilter filter(session.results());
  filter.setSourceModel(&model);
  const QAbstractItemModelTester table(&model, QAbstractItemModelTester::FailureReportingMode::Fatal);
  const QAbstractItemModelTester filtered(&filter, QAbstractItemModelTester::FailureReportingMode::Fatal);
  session.document().replace(small_study(), {});
  ASSERT_TRUE(searched(session));
  const std::vector<PlanRow>& plans = session.results().plans();
  ASSERT_GT(plans.size(), 10U);
  EXPECT_TRUE(plans.front().feasible());
  EXPECT_EQ(model.rowCount(), static_cast<int>(plans.size()));
  EXPECT_EQ(session.selection().plan(), 0);  // the best, until another is picked
  // Those that can't run are there with a reason, behind the others, and shown when asked for.
  const auto feasible = std::count_if(plans.begin(), plans.end(), [](const PlanRow& row) { return row.feasible(); });
  ASSERT_LT(feasible, static_cast<std::ptrdiff_t>(plans.size()));
  EXPECT_EQ(filter.rowCount(), feasible);
  EXPECT_FALSE(plans.back().infeasible->detail.empty());
  session.results().show_infeasible(true);
  EXPECT_EQ(filter.rowCount(), static_cast<int>(plans.size()));
  // A filter keeps what lies in its range, and can be taken off.
  session.results().show_infeasible(false);
  session.results().set_filter({PlanColumn::kTensor, 2.0, 2.0});
  ASSERT_GT(filter.rowCount(), 0);
  ASSERT_LT(filter.rowCount(), feasible);
  const int tensor = static_cast<int>(PlanColumn::kTensor) + 1;
  for (int row = 0; row < filter.rowCount(); ++row) {
    EXPECT_EQ(filter.index(row, tensor).data().toString(), "2");
  }
  session.results().remove_filter(PlanColumn::kTensor);
  EXPECT_EQ(filter.rowCount(), feasible);
}

// With 24 GiB, where the formula and the program disagree on which of the fastest layouts of Llama 3 70B fit.
std::string small_h100(const TemporaryFolder& folder) {
  std::string text = read_text_file(std::string(TRAINYARD_SOURCE_DIR) + "/models/accelerators/h100-sxm.json");
  const std::string whole = "80998 MiB";
  text.replace(text.find(whole), whole.size(), "24 GiB");
  const auto file = folder.path() / "h100-sxm.json";
  write_file(file, text);
  return file.string();
}

// Memory is priced by a formula. What runs, and what the timeline shows, is the program: the best plan fits as that.
TEST(Search, TheBestPlanFitsAsAProgram) {
  const TemporaryFolder folder;
  Study study = small_study();
  study.model = "llama-3-70b";
  study.machine = "superpod-h100:su=5";
  study.accelerator = small_h100(folder);
  study.ranks = 1024;
  study.global_batch = 512;
  Session session;
  session.document().replace(study, {});
  ASSERT_TRUE(searched(session));
  const PlanRow& best = session.results().plans().front();
  ASSERT_TRUE(best.feasible());
  const auto problem = open_problem(study).problem;
  ASSERT_TRUE(problem);
  simulator::PlannerRequest request;
  request.model = problem->model;
  request.training = problem->training;
  request.ranks = study.ranks;
  const simulator::ProgramFit fit =
      simulator::program_fit(simulator::make_plan(request, problem->profile, best.layout), problem->profile);
  EXPECT_FALSE(fit.lacks) << fit.lacks->detail;
  // Faster ones by formula, which fit by it too, are set aside with what their programs need.
  const std::vector<PlanRow>& plans = session.results().plans();
  const auto aside = std::find_if(plans.begin(), plans.end(), [](const PlanRow& row) { return row.unfit_as_program; });
  ASSERT_NE(aside, plans.end());
  ASSERT_TRUE(aside->infeasible && aside->ranked);
  EXPECT_LE(aside->ranked->memory.total, aside->available);
  EXPECT_GT(aside->memory, aside->available);
  EXPECT_LT(aside->ranked->step.step_time, best.step_time);
  EXPECT_FALSE(aside->feasible());
}

TEST(Search, SaysWhatIsWrongAtTheField) {
  Session session;
  Study study = small_study();
  study.model = "lama-3-8b";
  study.ranks = 0;
  study.policy = "pray";
  session.document().replace(study, {});
  ASSERT_TRUE(wait_for([&] { return !session.search().errors().empty(); }));
  std::set<Field> fields;
  for (const FieldError& error : session.search().errors()) {
    fields.insert(error.field);
    EXPECT_FALSE(error.problem.empty());
  }
  EXPECT_EQ(fields, (std::set<Field>{Field::kModel, Field::kRanks, Field::kPolicy}));
  EXPECT_TRUE(session.results().plans().empty());
  EXPECT_FALSE(session.search().running());
}

TEST(Search, BeginsAnewOnceAfterAFewEdits) {
  Session session;
  session.document().replace(small_study(), {});
  ASSERT_TRUE(searched(session));
  QSignalSpy checked(&session.search(), &Search::checked);
  for (const std::int64_t batch : {1, 12, 128}) {
    session.document().edit(Field::kGlobalBatch, "change the batch", [&](Study& study) { study.global_batch = batch; });
  }
  ASSERT_TRUE(wait_for([&] { return checked.count() > 0; }));
  ASSERT_TRUE(wait_for([&] {
    return !session.search().running() && session.analysis().problem() &&
           session.analysis().problem()->study.global_batch == 128;
  }));
  EXPECT_EQ(checked.count(), 1);
}

TEST(Search, CancelKeepsWhatWasFound) {
  Session session;
  Study study = small_study();
  study.model = "qwen3-235b-a22b";  // many layouts
  study.ranks = 1024;
  study.global_batch = 4096;
  study.machine = "llama3-16k-h100";
  session.document().replace(study, {});
  ASSERT_TRUE(wait_for([&] { return session.search().running() && !session.results().plans().empty(); }));
  session.search().cancel();
  EXPECT_FALSE(session.search().running());
  EXPECT_TRUE(session.results().summary().stopped);
  const std::size_t kept = session.results().plans().size();
  EXPECT_GT(kept, 0U);
  ASSERT_TRUE(wait_for([&] { return !session.jobs().busy(); }));
  EXPECT_EQ(session.results().plans().size(), kept);
}

TEST(Search, AsksToMeasureThisMachineFirst) {
  Session session;
  Study study = small_study();
  study.machine = kThisMachine;
  study.model = "demo-llama";
  study.sequence = 128;
  session.document().replace(study, {});
  EXPECT_TRUE(wait_for([&] { return session.search().unmeasured(); }));
  EXPECT_TRUE(session.search().errors().empty());
  EXPECT_FALSE(session.search().running());  // not by itself: it takes the whole machine for a while
}

// A study begins with a fleet's failures; changed to this machine they'd be answers about another one.
TEST(Problem, OfThisMachineNoPublishedFailuresAreTaken) {
  const TestFolder folder;
  Study study;
  study.model = "llama-3-8b";
  study.machine = kThisMachine;
  study.profile = folder.path("here.profile.json");
  write_device_profile(simulator::small_machine(), study.profile);
  ASSERT_FALSE(study.failures.empty());
  const OpenedProblem opened = open_problem(study);
  ASSERT_TRUE(opened.problem) << (opened.errors.empty() ? "" : opened.errors.front().problem);
  EXPECT_FALSE(opened.problem->failures);
  // Once a time is said, processes die so often and nothing else fails.
  study.mean_time_between_failures = "1 h";
  const auto said = open_problem(study).problem;
  ASSERT_TRUE(said && said->failures);
  EXPECT_EQ(said->failures->name, simulator::open_failure_profile("none").name);
  // A name that stands for nothing is still wrong, and a file of one's own counts.
  study.failures = "lama3-h100";
  EXPECT_FALSE(open_problem(study).errors.empty());
  study.mean_time_between_failures.clear();
  const auto shipped = shipped_failures();
  const auto fleet = std::find_if(shipped.begin(), shipped.end(),
                                  [](const ShippedFile& file) { return file.name == Study().failures; });
  ASSERT_NE(fleet, shipped.end());
  study.failures = folder.write("own.json", std::string(fleet->text));
  ASSERT_TRUE(open_problem(study).problem);
  EXPECT_TRUE(open_problem(study).problem->failures);
}

// What a person has brushed is of the plans they saw.
TEST(Session, FiltersEndWithTheirStudy) {
  Session session;
  session.results().set_filter({PlanColumn::kTensor, 2.0, 2.0});
  LassoFilter lasso;
  lasso.corners << QPointF(0.0, 0.0) << QPointF(1.0, 0.0) << QPointF(0.0, 1.0);
  session.results().set_lasso(lasso);
  session.document().edit(Field::kRanks, "change Ranks", [](Study& study) { study.ranks = 8; });
  EXPECT_TRUE(session.results().lasso());
  session.document().replace(small_study(), {});
  EXPECT_FALSE(session.results().filtered());
}

TEST(Session, TheSelectionFollowsItsPlanWhenPlansChange) {
  Session session;
  session.document().replace(small_study(), {});
  ASSERT_TRUE(searched(session));
  session.selection().select_plan(3);
  session.selection().compare(2, 3);
  const std::string chosen = session.results().plans()[3].text;
  std::vector<PlanRow> fewer(session.results().plans().begin() + 1, session.results().plans().end());
  session.results().replace(std::move(fewer), session.results().summary());
  ASSERT_EQ(session.selection().plan(), 2);
  EXPECT_EQ(session.results().plans()[2].text, chosen);
  EXPECT_EQ(session.selection().plan_a(), 1);
  EXPECT_EQ(session.selection().plan_b(), 2);
}

// Rows a, b, ... of a search; the first is the best so far.
void show(Session& session, const std::string& names, bool finished) {
  std::vector<PlanRow> rows(names.size());
  for (std::size_t i = 0; i < names.size(); ++i) {
    rows[i].text = names[i];
  }
  SearchSummary summary;
  summary.finished = finished;
  session.results().replace(std::move(rows), summary);
}

TEST(Session, ShowsTheBestOnceTheSearchEndsUnlessAPersonHasPickedAnother) {
  Session session;
  const auto shown = [&] { return session.results().plan(session.selection().plan())->text; };
  show(session, "b", false);
  EXPECT_EQ(shown(), "b");
  show(session, "ab", false);  // a change of the best would be simulated each time
  EXPECT_EQ(shown(), "b");
  show(session, "abc", true);
  EXPECT_EQ(shown(), "a");
  session.selection().select_plan(2);
  show(session, "da", false);  // not found again yet
  show(session, "dabc", true);
  EXPECT_EQ(shown(), "c");
  show(session, "ed", true);  // gone
  EXPECT_EQ(shown(), "e");
  show(session, "fed", true);
  EXPECT_EQ(shown(), "f");
}

TEST(Session, SimulatesASelectedPlanInTheBackground) {
  Session session;
  session.document().replace(small_study(), {});
  ASSERT_TRUE(searched(session));
  session.analysis().request_simulation(0);
  EXPECT_EQ(session.analysis().simulation_state(0), PartState::kComputing);
  ASSERT_TRUE(wait_for([&] { return session.analysis().simulation_state(0) != PartState::kComputing; }));
  if (session.analysis().simulation_state(0) == PartState::kReady) {
    EXPECT_GT(session.analysis().simulation(0)->simulation.step.trace.slices.size(), 10U);
  } else {
    EXPECT_FALSE(session.analysis().simulation_message(0).isEmpty());  // not every layout is a program
  }
}

}  // namespace
}  // namespace trainyard::gui
