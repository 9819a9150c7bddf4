// Files that are dropped: each kind is known by its content and finds its place; bad ones change nothing.
#include "gui/session/import_file.h"

#include <gtest/gtest.h>

#include "core/cluster/builder.h"
#include "core/cluster/cluster.h"
#include "core/document/read_file.h"
#include "core/error.h"
#include "core/plan/device_profile.h"
#include "core/plan/plan.h"
#include "core/plan/run_record.h"
#include "core/plan/shipped.h"
#include "core/plan/trace.h"
#include "gui/session/session.h"
#include "tests/gui/support.h"
#include "tests/support/error_of.h"

namespace trainyard::gui {
namespace {

std::string shipped(const std::string& path) { return std::string(TRAINYARD_SOURCE_DIR) + "/models/" + path; }

Plan small_plan() {
  Plan plan;
  plan.model = open_model("demo-llama");
  plan.cluster = {"cpu", 2, "cpu"};
  plan.layout.data = 2;
  plan.layout.accumulation = 2;
  plan.training.sequence = 64;
  plan.training.global_batch = 4;
  plan.training.steps = 10;
  return plan;
}

std::string record_text() {
  RunHeader header;
  header.ranks = 2;
  header.device = "cpu";
  StepRecord step;
  step.loss = 5.5;
  step.step_time = from_si<Seconds>(0.25);
  std::string text = to_json_line(header);
  for (step.step = 0; step.step < 3; ++step.step) {
    text += to_json_line(step);
  }
  return text + end_json_line(std::nullopt);
}

class Import : public testing::Test {
 protected:
  Import() { session_.search().set_automatic(false); }
  QString take(const std::string& file) { return import_file(QString::fromStdString(file), session_); }
  const Study& study() { return session_.document().study(); }

  TestFolder folder_;
  Session session_;
};

TEST_F(Import, AConfigIsTheModelAndUndoTakesItBack) {
  const std::string before = study().model;
  take(shipped("llm/gpt2.json"));
  EXPECT_EQ(study().model, shipped("llm/gpt2.json"));
  session_.document().undo_stack().undo();
  EXPECT_EQ(study().model, before);
}

TEST_F(Import, ATopologyIsTheMachineAndBoundsTheRanks) {
  const std::string file = folder_.write("mine.topology.json", to_json(build_cluster("pcie-box:gpus=8")));
  EXPECT_TRUE(take(file).contains("8 GPUs"));
  EXPECT_EQ(study().machine, file);
  EXPECT_EQ(study().ranks, 8);
}

// One of each kind that the fuzz targets begin with.
TEST_F(Import, EachKindOfTopologyFileIsKnownByItsContent) {
  int files = 0;
  for (const auto& entry :
       std::filesystem::recursive_directory_iterator(std::string(TRAINYARD_SOURCE_DIR) + "/tests/fuzz/seeds")) {
    if (entry.is_regular_file()) {
      ++files;
      EXPECT_EQ(kind_of_file(entry.path().string()), FileKind::kTopology) << entry.path();
    }
  }
  EXPECT_GT(files, 7);
}

TEST_F(Import, APublishedClusterAndAFailureProfile) {
  take(shipped("clusters/eos-h100.json"));
  EXPECT_EQ(study().machine, shipped("clusters/eos-h100.json"));
  take(shipped("failures/rsc1-a100.json"));
  EXPECT_EQ(study().failures, shipped("failures/rsc1-a100.json"));
}

TEST_F(Import, APlanGivesItsInputsAndIsStarred) {
  const std::string file = folder_.path("plan.json");
  write_plan(small_plan(), file);
  take(file);
  EXPECT_EQ(study().model, "demo-llama");
  EXPECT_EQ(study().machine, kThisMachine);
  EXPECT_EQ(study().ranks, 2);
  EXPECT_EQ(study().global_batch, 4);
  ASSERT_EQ(study().starred.size(), 1U);
  EXPECT_TRUE(contains(study().starred.front(), "dp2"));
}

TEST_F(Import, APlanBringsItsPrecision) {
  for (const DataType type : {DataType::kFp16, DataType::kFp32}) {
    Plan plan = small_plan();
    plan.layout.compute_type = plan.layout.parameter_type = plan.layout.communication_type = type;
    const std::string file = folder_.path("plan.json");
    write_plan(plan, file);
    take(file);
    EXPECT_EQ(study().precision, to_string(type));
  }
}

TEST_F(Import, APlanOfAnUnknownModelBringsItAlong) {
  Plan plan = small_plan();
  plan.model.layers = 3;
  plan.model.name = "mine";
  const std::string file = folder_.path("plan.json");
  write_plan(plan, file);
  take(file);
  EXPECT_EQ(open_model(study().model).layers, 3);
}

TEST_F(Import, ARunRecordIsARowOfRuns) {
  const std::string file = folder_.write("record.jsonl", record_text());
  take(file);
  ASSERT_EQ(session_.runs().runs().size(), 1U);
  EXPECT_EQ(session_.runs().runs().front().record.steps.size(), 3U);
  EXPECT_EQ(session_.runs().runs().front().median_warm_step()->si(), 0.25);
  EXPECT_EQ(study().runs.size(), 1U);
}

TEST_F(Import, ATraceIsItsRunAndAloneSaysWhatToOpen) {
  const std::string trace = folder_.write("trace.json", to_json(Trace{}));
  EXPECT_TRUE(contains(error_of([&] { take(trace); }).hint(), "the run's folder"));
  folder_.write("record.jsonl", record_text());
  take(trace);
  ASSERT_EQ(session_.runs().runs().size(), 1U);
  EXPECT_EQ(session_.runs().runs().front().record.steps.size(), 3U);
  EXPECT_NE(session_.runs().runs().front().trace, nullptr);
}

TEST_F(Import, AFileThatIsCutOffSaysWhere) {
  const std::string whole = to_json(small_plan());
  const Error error = error_of([&] { take(folder_.write("plan.json", whole.substr(0, 300))); });
  EXPECT_TRUE(contains(error.where(), "plan.json")) << error.where();
  EXPECT_FALSE(contains(error.problem(), "of another kind")) << error.problem();
}

TEST_F(Import, AStudyReplacesTheOneAtHand) {
  Study mine;
  mine.name = "mine";
  mine.ranks = 8;
  write_study(mine, folder_.path("mine.study.json"));
  take(folder_.path("mine.study.json"));
  EXPECT_EQ(study(), mine);
  EXPECT_EQ(session_.document().file(), QString::fromStdString(folder_.path("mine.study.json")));
}

TEST_F(Import, BadFilesChangeNothing) {
  const Study before = study();
  for (const std::string& text :
       {std::string(), std::string("hello"), std::string("{\"document\": \"plan\", \"schema\": 1"),
        std::string("{\"document\": \"plan\", \"schema\": 1}"), std::string("{\"document\": \"cables\"}"),
        std::string("{\"model_type\": \"unheard-of\"}"), std::string("<system></system>"),
        std::string("\xff\xfe\x00", 3), std::string("{\"record\": \"header\"")}) {
    const std::string file = folder_.write("bad", text);
    EXPECT_FALSE(error_of([&] { take(file); }).problem().empty()) << text;
  }
  EXPECT_FALSE(error_of([&] { take(folder_.path("missing")); }).problem().empty());
  EXPECT_EQ(study(), before);
  EXPECT_EQ(session_.document().undo_stack().count(), 0);
  EXPECT_TRUE(session_.runs().runs().empty());
}

}  // namespace
}  // namespace trainyard::gui
