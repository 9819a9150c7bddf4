#include "simulator/collective/published_collectives.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "core/error.h"
#include "simulator/collective/validate_collectives.h"

namespace trainyard::simulator {
namespace {

std::string file_of(const std::string& rows) { return R"({"schema": "x", "count": 1, "points": [)" + rows + "]}"; }

std::string row(const std::string& id, const std::string& hardware, const std::string& size, const std::string& bus,
                const std::string& more = R"("algo": "default", "notes": "")") {
  return R"({"id": ")" + id + R"(", "source": "owner/name path", "hardware": ")" + hardware +
         R"(", "nodes": 1, "gpus": 8, "collective": "all_reduce", "size_bytes": )" + size +
         R"(, "algbw_GBps": null, "busbw_GBps": )" + bus + R"(, "time_us": null, )" + more + "}";
}

std::vector<ClassifiedCollective> classified(const std::string& rows) {
  const CollectiveModels models = shipped_collective_models();
  return classify(parse_published_collectives(file_of(rows), "test.json"), models.facts, models.exclusions);
}

bool flagged(const ClassifiedCollective& point, const std::string& flag) {
  return std::find(point.flags.begin(), point.flags.end(), flag) != point.flags.end();
}

TEST(PublishedCollectives, EachTrapIsFlaggedAndKeptOut) {
  const auto points =
      classified(row("a", "8x H100", "null", "480") + "," +
                 row("b", "8x H100", "1048576", "60", R"("algo": "default", "notes": "acceptance threshold")") + "," +
                 row("c", "8x H100", "1024", "0.01") + "," +
                 row("d", "8x B300", "1048576", "7.6", R"("algo": "NCCL_PROTO=Simple", "notes": "anomalous")"));
  EXPECT_TRUE(flagged(points[0], "peak"));
  EXPECT_TRUE(flagged(points[1], "threshold"));
  EXPECT_TRUE(flagged(points[2], "one_digit"));
  EXPECT_TRUE(flagged(points[3], "anomalous"));
  for (const ClassifiedCollective& point : points) {
    EXPECT_TRUE(point.excluded);
    EXPECT_EQ(point.reason, "");
  }
  EXPECT_TRUE(fit_observations(points).empty());
}

// 4 KiB at 0.3 GB/s takes 23.9 us, 8 KiB at 0.82 takes 17.5.
TEST(PublishedCollectives, ARowThatALargerSizeBeatsIsFlagged) {
  const auto points = classified(row("a", "8x H100", "4096", "0.3") + "," + row("b", "8x H100", "8192", "0.82"));
  EXPECT_TRUE(flagged(points[0], "non_monotone"));
  EXPECT_FALSE(points[1].excluded);
}

TEST(PublishedCollectives, RowsThatCantBeScoredSayWhyAndTheRestStand) {
  const auto points = classified(row("a", "8x abacus", "1048576", "3") + "," + row("b", "8x H100", R"("big")", "3") +
                                 ", 7, {}," + row("c", "8x H100", "1048576", "65"));
  EXPECT_NE(points[0].reason.find("abacus"), std::string::npos);
  EXPECT_NE(points[1].reason.find("size_bytes"), std::string::npos);
  EXPECT_FALSE(points[2].reason.empty());
  EXPECT_FALSE(points[3].reason.empty());
  EXPECT_EQ(points[4].reason, "");
  EXPECT_EQ(points[4].shape.curve_class(), "hopper/nvls");
  EXPECT_THROW(parse_published_collectives("{}", "x"), Error);
  EXPECT_THROW(parse_published_collectives(R"({"points": []})", "x"), Error);
}

std::string with_algorithm(const std::string& algo) { return "\"algo\": \"" + algo + "\", \"notes\": \"\""; }

TEST(PublishedCollectives, TheNamedAlgorithmIsTaken) {
  const auto points = classified(row("a", "8x B300", "1048576", "48", with_algorithm("Ring (default)")) + "," +
                                 row("b", "8x B300", "1048576", "48", with_algorithm("Ring, 4 channels")) + "," +
                                 row("c", "8x A100", "1048576", "48", with_algorithm("NVLS")));
  EXPECT_EQ(points[0].shape.curve_class(), "blackwell/ring");
  EXPECT_TRUE(points[1].shape.channel_caps.has_value());
  EXPECT_TRUE(flagged(points[2], "algorithm_replaced"));
  EXPECT_EQ(points[2].shape.curve_class(), "ampere/ring");
}

TEST(ValidateCollectives, ErrorsAndSummaryFollowFromTheRows) {
  const CollectiveModels models = shipped_collective_models();
  const auto points = classified(row("a", "8x H100", "17179869184", "480") + "," + row("b", "8x H100", "null", "480"));
  const CollectiveValidation validation = validate_collectives(points, models.curves, false);
  ASSERT_EQ(validation.rows.size(), 2U);
  const ValidationRow& first = validation.rows[0];
  EXPECT_DOUBLE_EQ(first.error, first.predicted / first.measured - 1.0);
  EXPECT_LT(first.low, first.predicted);
  EXPECT_GT(first.high, first.predicted);
  EXPECT_EQ(validation.summary.scored, 2);
  EXPECT_EQ(validation.summary.excluded, 1);
  ASSERT_TRUE(validation.summary.large);
  EXPECT_EQ(validation.summary.large->rows, 1);
  EXPECT_DOUBLE_EQ(validation.summary.large->median, std::abs(first.error));
}

}  // namespace
}  // namespace trainyard::simulator
