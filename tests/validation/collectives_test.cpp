// Predictions against the published collectives beside the repository (../shared/reference/published), where they are.
#include <gtest/gtest.h>

#include "core/document/read_file.h"
#include "simulator/collective/validate_collectives.h"
#include "tests/support/reference_file.h"

namespace trainyard::simulator {
namespace {

class PublishedCollectiveTimes : public testing::Test {
 protected:
  void SetUp() override {
    const auto file = reference_file("published/collectives.json");
    if (!file) {
      GTEST_SKIP() << "no published/collectives.json in ../shared/reference; TRAINYARD_REFERENCE names its folder";
    }
    points_ =
        classify(parse_published_collectives(read_text_file(*file), file->string()), models_.facts, models_.exclusions);
  }

  CollectiveModels models_ = shipped_collective_models();
  std::vector<ClassifiedCollective> points_;
};

TEST_F(PublishedCollectiveTimes, ShippedConstantsAreWithinTheStatedErrors) {
  const ValidationSummary summary = validate_collectives(points_, models_.curves, false).summary;
  ASSERT_TRUE(summary.large && summary.small && summary.all);
  EXPECT_GE(summary.large->rows, 300);
  EXPECT_LE(summary.large->median, 0.028);
  EXPECT_LE(summary.small->median, 0.08);
  EXPECT_GE(summary.all->coverage, 0.75);
  EXPECT_LE(summary.all->coverage, 0.85);
}

TEST_F(PublishedCollectiveTimes, ASourceLeftOutIsStillPredictedWithinSixPercent) {
  const ValidationSummary summary = validate_collectives(points_, models_.curves, true).summary;
  ASSERT_TRUE(summary.left_out_large);
  EXPECT_LE(summary.left_out_large->median, 0.06);
}

// The constants in the tree are what the fitting code gives for this file.
TEST_F(PublishedCollectiveTimes, ShippedConstantsAreReproducible) {
  const CurveTable fitted = fit_curves(fit_observations(points_));
  ASSERT_EQ(fitted.classes.size(), models_.curves.classes.size());
  for (const auto& [name, curve] : fitted.classes) {
    const CurveConstants& shipped = models_.curves.classes.at(name).constants;
    EXPECT_NEAR(curve.constants.floor_s / shipped.floor_s, 1.0, 0.01) << name;
    EXPECT_NEAR(curve.constants.hop_s / shipped.hop_s, 1.0, 0.01) << name;
    EXPECT_NEAR(curve.constants.fill_s / shipped.fill_s, 1.0, 0.01) << name;
    EXPECT_NEAR(curve.constants.fill_bytes / shipped.fill_bytes, 1.0, 0.02) << name;
    EXPECT_NEAR(curve.constants.bandwidth / shipped.bandwidth, 1.0, 0.002) << name;
  }
}

}  // namespace
}  // namespace trainyard::simulator
