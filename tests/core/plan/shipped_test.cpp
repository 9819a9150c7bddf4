#include "core/plan/shipped.h"

#include <gtest/gtest.h>

#include <fstream>

#include "core/model/huggingface.h"
#include "core/model/parameter.h"
#include "tests/support/error_of.h"
#include "tests/support/temporary_folder.h"

namespace trainyard {
namespace {

const std::string kModels = std::string(TRAINYARD_SOURCE_DIR) + "/models/";

TEST(Shipped, NamesStandForTheFilesOfTheTree) {
  EXPECT_GE(shipped_models().size(), 28U);
  for (const ShippedFile& file : shipped_models()) {
    const std::string name(file.name);
    EXPECT_EQ(open_model(name), read_huggingface_config(kModels + "llm/" + name + ".json")) << name;
  }
  EXPECT_EQ(parameter_count(open_model("gpt3-175b")), 174604259328);
  for (const ShippedFile& file : shipped_clusters()) {
    const Fabric fabric = open_fabric(std::string(file.name));
    EXPECT_EQ(open_accelerator(fabric.accelerator).name, fabric.accelerator);
  }
}

TEST(Shipped, AFileComesBeforeAName) {
  const TemporaryFolder folder;
  const std::string file = (folder.path() / "config.json").string();
  std::ofstream(file) << huggingface_config(open_model("demo-llama"));
  EXPECT_EQ(open_model(file).layers, 4);
  EXPECT_EQ(open_accelerator("h100-sxm", kModels + "clusters/llama3-16k-h100.json").name, "h100-sxm");
}

TEST(Shipped, AWrongNameIsAnErrorWithTheNearest) {
  const Error error = error_of([] { open_model("llama3-8b"); });
  EXPECT_EQ(error.where(), "--model");
  EXPECT_EQ(error.hint(), "did you mean \"llama-3-8b\"?");
  EXPECT_TRUE(contains(error_of([] { open_fabric("nothing-like-it"); }).hint(), "llama3-16k-h100"));
  EXPECT_EQ(error_of([] { open_accelerator("h100"); }).where(), "--accelerator");
}

}  // namespace
}  // namespace trainyard
