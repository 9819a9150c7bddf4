// The checker itself, on made-up sources.
#include "tests/architecture/include_rules.h"

#include <gtest/gtest.h>

namespace trainyard {
namespace {

bool allowed_ours(std::string_view file, std::string path) {
  return !broken_rule(file, Include{1, std::move(path), true});
}

bool allowed_library(std::string_view file, std::string path) {
  return !broken_rule(file, Include{1, std::move(path), false});
}

TEST(IncludeRules, FindsDirectivesWithTheirLines) {
  EXPECT_EQ(includes_of("#pragma once\n#include <vector>\n  #  include \"core/error.h\"  // why\n\n#include<map>"),
            (std::vector<Include>{{2, "vector", false}, {3, "core/error.h", true}, {5, "map", false}}));
  EXPECT_EQ(includes_of("#if 0\n#include <QWidget>\n#endif\n"), (std::vector<Include>{{2, "QWidget", false}}));
  EXPECT_EQ(includes_of("#include <vector>\r\n#include <map>\r\n").size(), 2U);
}

TEST(IncludeRules, LeavesOutCommentsAndText) {
  EXPECT_TRUE(includes_of("// #include <a>\n/* x\n#include <b>\n*/\nint include = 1;\n").empty());
  EXPECT_TRUE(includes_of("const char* s = \"#include <c>\";\n#define F <d>\n#include F\n").empty());
  EXPECT_EQ(includes_of("/* a */ #include <b>\n").size(), 1U);
  // Comment signs in text and digit separators don't hide what follows.
  EXPECT_EQ(
      includes_of("auto url = \"http://x\";\nint n = 1'000;\nchar c = '\"';\nauto e = \"\\\"/*\";\n#include <b>\n"),
      (std::vector<Include>{{5, "b", false}}));
  EXPECT_EQ(includes_of("#include <gloo/*.h>\n").size(), 0U);  // an open comment, as the compiler sees it
}

TEST(IncludeRules, CoreIncludesCoreAlone) {
  EXPECT_TRUE(allowed_ours("core/program/wire.cpp", "core/program/wire.h"));
  for (const char* path : {"simulator/step/step.h", "executor/device/device.h", "cli/run.h", "gui/session/study.h",
                           "tests/support/error_of.h"}) {
    EXPECT_FALSE(allowed_ours("core/program/wire.cpp", path)) << path;
    EXPECT_FALSE(allowed_library("core/program/wire.cpp", path)) << path << " in angle brackets";
  }
}

TEST(IncludeRules, SimulatorAndExecutorNeverMeet) {
  EXPECT_TRUE(allowed_ours("simulator/step/step.cpp", "core/program/program.h"));
  EXPECT_TRUE(allowed_ours("executor/worker/worker.cpp", "core/program/program.h"));
  EXPECT_FALSE(allowed_ours("simulator/step/step.cpp", "executor/device/device.h"));
  EXPECT_FALSE(allowed_ours("executor/worker/worker.cpp", "simulator/step/step.h"));
  EXPECT_FALSE(allowed_ours("simulator/step/step.cpp", "cli/run.h"));
  EXPECT_FALSE(allowed_ours("executor/worker/worker.cpp", "gui/paint/paint.h"));
}

TEST(IncludeRules, CommandLineAndDesktopStandOnAllThreeSideBySide) {
  for (const char* top : {"cli/run.cpp", "gui/views/trace.cpp"}) {
    for (const char* path : {"core/error.h", "simulator/step/step.h", "executor/worker/worker.h"}) {
      EXPECT_TRUE(allowed_ours(top, path)) << top << " " << path;
    }
  }
  EXPECT_FALSE(allowed_ours("cli/run.cpp", "gui/paint/paint.h"));
  EXPECT_FALSE(allowed_ours("gui/views/trace.cpp", "cli/run.h"));
}

TEST(IncludeRules, TestsIncludeWhatTheirFolderMay) {
  EXPECT_TRUE(allowed_ours("tests/core/layout/mesh_test.cpp", "core/layout/mesh.h"));
  EXPECT_TRUE(allowed_ours("tests/core/layout/mesh_test.cpp", "tests/support/error_of.h"));
  EXPECT_FALSE(allowed_ours("tests/core/layout/mesh_test.cpp", "executor/device/device.h"));
  EXPECT_FALSE(allowed_ours("tests/simulator/step/step_test.cpp", "executor/device/device.h"));
  EXPECT_FALSE(allowed_ours("tests/support/plans.h", "executor/device/device.h"));
  EXPECT_TRUE(allowed_ours("tests/validation/compare_test.cpp", "executor/worker/worker.h"));
  EXPECT_TRUE(allowed_ours("tests/validation/compare_test.cpp", "simulator/step/step.h"));
}

TEST(IncludeRules, LibrariesStayInTheirFolders) {
  EXPECT_TRUE(allowed_library("gui/views/trace.cpp", "QWidget"));
  EXPECT_FALSE(allowed_library("cli/run.cpp", "QString"));
  EXPECT_FALSE(allowed_library("core/plan/plan.cpp", "QtCore/QString"));
  EXPECT_TRUE(allowed_library("executor/device/cuda_device.cpp", "cuda_runtime.h"));
  EXPECT_TRUE(allowed_library("executor/communicator/nccl.cpp", "nccl.h"));
  EXPECT_FALSE(allowed_library("simulator/compute/gemm.cpp", "cublasLt.h"));
  EXPECT_FALSE(allowed_library("cli/doctor.cpp", "nvml.h"));
  EXPECT_TRUE(allowed_library("core/cluster/graph.h", "boost/graph/adjacency_list.hpp"));
  EXPECT_FALSE(allowed_library("core/clusters/graph.h", "boost/graph/adjacency_list.hpp"));
  EXPECT_TRUE(allowed_library("simulator/failure/repair_law.cpp", "boost/math/special_functions/erf.hpp"));
  EXPECT_FALSE(allowed_library("core/cluster/graph.h", "boost/math/special_functions/erf.hpp"));
  EXPECT_FALSE(allowed_library("simulator/fabric/routing.cpp", "boost/graph/dijkstra_shortest_paths.hpp"));
  EXPECT_TRUE(allowed_library("executor/communicator/gloo.cpp", "gloo/context.h"));
  EXPECT_TRUE(allowed_library("tests/executor/communicator/gloo_test.cpp", "gloo/context.h"));
  EXPECT_FALSE(allowed_library("executor/worker/worker.cpp", "gloo/context.h"));
}

TEST(IncludeRules, CoreHasNoThreadsAndNoClocks) {
  EXPECT_FALSE(allowed_library("core/plan/trace.cpp", "chrono"));
  EXPECT_FALSE(allowed_library("core/plan/trace.cpp", "thread"));
  EXPECT_TRUE(allowed_library("executor/worker/worker.cpp", "thread"));
  EXPECT_TRUE(allowed_library("tests/core/plan/trace_test.cpp", "thread"));
}

TEST(IncludeRules, OrdinaryHeadersAreFreeToAll) {
  for (const char* path : {"vector", "queue", "cuchar", "cstdint", "nlohmann/json_fwd.hpp", "fmt/format.h"}) {
    EXPECT_TRUE(allowed_library("core/plan/plan.cpp", path)) << path;
  }
}

TEST(IncludeRules, OurHeadersAreNamedFromTheRoot) {
  EXPECT_FALSE(allowed_ours("core/layout/mesh.cpp", "mesh.h"));
  EXPECT_FALSE(allowed_ours("core/layout/mesh.cpp", "../error.h"));
  EXPECT_FALSE(allowed_ours("core/layout/mesh.cpp", "vector"));
}

TEST(IncludeRules, AFileInAnUnknownFolderIsReported) {
  EXPECT_FALSE(allowed_library("helpers/main.cpp", "vector"));
  EXPECT_FALSE(allowed_library("corecopy/main.cpp", "vector"));
}

}  // namespace
}  // namespace trainyard
