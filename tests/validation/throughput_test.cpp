// Predictions against the published training throughput beside the repository (../shared/reference/published), where it
// is. Limits: what docs/cost_model.md states, with a little room.
#include <gtest/gtest.h>

#include <filesystem>

#include "core/document/read_file.h"
#include "simulator/throughput/throughput_score.h"
#include "simulator/throughput/validate_throughput.h"

namespace trainyard::simulator {
namespace {

namespace fs = std::filesystem;

class PublishedThroughput : public testing::Test {
 protected:
  void SetUp() override {
    const fs::path source(TRAINYARD_SOURCE_DIR);
    fs::path file;
    for (const char* up : {"../shared", "../../shared"}) {
      const fs::path candidate = source / up / "reference/published/throughput.json";
      if (fs::exists(candidate)) {
        file = candidate;
      }
    }
    if (file.empty()) {
      GTEST_SKIP() << "no ../shared/reference/published/throughput.json beside the repository";
    }
    cases_ =
        make_cases(parse_published_throughput(read_text_file(file), file.string()), shipped_throughput_exclusions());
  }

  std::vector<ThroughputCase> cases_;
};

TEST_F(PublishedThroughput, ShippedProfilesAreWithinTheStatedErrors) {
  const ThroughputSummary summary = validate_throughput(cases_, shipped_stacks(), {}).summary;
  EXPECT_GE(summary.scored, 550);
  EXPECT_LE(summary.by_source.at("dense"), 0.038);
  EXPECT_LE(summary.by_source.at("moe"), 0.085);
  EXPECT_LE(summary.sources.at("korthikanti-t5").mean, 0.020);
  EXPECT_GE(summary.kinds.at("dense").inside, 0.75);
  EXPECT_LE(summary.kinds.at("dense").inside, 0.87);
  EXPECT_GE(summary.kinds.at("moe").inside, 0.75);
  EXPECT_LE(summary.kinds.at("moe").inside, 0.87);
  EXPECT_LT(summary.kinds.at("dense").mean, 0.5 * summary.baselines.at("constant_mfu").mean);
}

TEST_F(PublishedThroughput, ASourceLeftOutIsStillPredicted) {
  const ThroughputSummary summary = validate_throughput(cases_, shipped_stacks(), {true, {}}).summary;
  EXPECT_LE(summary.left_out.at("dense").by_source, 0.067);
  EXPECT_LE(summary.left_out.at("dense").rows.mean, 0.073);
  EXPECT_LE(summary.left_out.at("dense").rows.p90, 0.180);
  EXPECT_LE(summary.left_out.at("dense").anchored, 0.054);
  EXPECT_LE(summary.left_out.at("dense").typical, 0.050);
  EXPECT_LE(summary.left_out.at("dense").scaled, 0.045);
  EXPECT_LE(summary.left_out.at("moe").by_source, 0.13);
}

// The profiles in the tree are what the fitting code gives for this file.
TEST_F(PublishedThroughput, ShippedProfilesAreReproducible) {
  std::vector<FitRow> rows;
  for (const FitRow& row : fit_rows(cases_)) {
    if (!row.row->excluded) {
      rows.push_back(row);
    }
  }
  const StackLibrary fitted = fit_stacks(rows);
  const StackLibrary shipped = shipped_stacks();
  ASSERT_EQ(fitted.stacks.size(), shipped.stacks.size());
  for (const auto& [name, profile] : fitted.stacks) {
    for (std::size_t i = 0; i < profile.constants.size(); ++i) {
      EXPECT_NEAR(profile.constants.at(i) / shipped.stacks.at(name).constants.at(i), 1.0, 0.02)
          << name << " " << to_string(static_cast<StackConstant>(i));
    }
  }
}

}  // namespace
}  // namespace trainyard::simulator
