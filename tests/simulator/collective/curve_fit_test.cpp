#include "simulator/collective/curve_fit.h"

#include <gtest/gtest.h>

#include <cmath>

#include "simulator/collective/collective_models.h"

namespace trainyard::simulator {
namespace {

// All-reduces of 2, 4 and 8 A100 in a node from 1 KiB to 8 GiB, with these constants and an error of `noise`.
std::vector<FitObservation> planted(const CurveConstants& truth, const std::string& source, double noise) {
  const CollectiveModels models = shipped_collective_models();
  CurvePriors priors = default_priors();
  CurveTable table;
  table.families = priors.families;
  table.sharpness = priors.sharpness;
  table.classes["ampere/ring"] = {"node/ring", truth, {}, {}, 0, {}, false};
  std::vector<FitObservation> observations;
  int turn = 0;
  for (const int ranks : {2, 4, 8}) {
    CollectiveSite site;
    site.generation = GpuGeneration::kAmpere;
    site.ranks = ranks;
    const CurveShape shape = curve_shape(site, CollectiveOp::kAllReduce, NcclAlgorithm::kRing, models.facts);
    const Curve curve = make_curve(shape, table);
    for (double size = 1024.0; size < 1e10; size *= 2.0) {
      const double off = 1.0 + noise * ((turn++ % 3) - 1);
      observations.push_back({shape, from_si<Bytes>(size), curve.bus_bandwidth(from_si<Bytes>(size)) * off,
                              source + std::to_string(ranks), source});
    }
  }
  return observations;
}

constexpr CurveConstants kTruth = {30e-6, 1.0e-6, 3.5e-6, 2e5, 0.95};

TEST(CurveFit, RecoversPlantedConstants) {
  const CurveTable table = fit_curves(planted(kTruth, "a", 0.005));
  const CurveConstants& found = table.classes.at("ampere/ring").constants;
  EXPECT_NEAR(found.floor_s, kTruth.floor_s, 0.05 * kTruth.floor_s);
  EXPECT_NEAR(found.hop_s, kTruth.hop_s, 0.2 * kTruth.hop_s);
  EXPECT_NEAR(found.hop_s + found.fill_s, kTruth.hop_s + kTruth.fill_s, 0.05 * (kTruth.hop_s + kTruth.fill_s));
  EXPECT_NEAR(found.bandwidth, kTruth.bandwidth, 0.005 * kTruth.bandwidth);
}

// Cauchy weights: a tenth of the points at half their rate leave the plateau where it was.
TEST(CurveFit, OutliersBarelyMoveIt) {
  std::vector<FitObservation> observations = planted(kTruth, "a", 0.0);
  for (std::size_t i = 0; i < observations.size(); i += 10) {
    observations[i].bus *= 0.5;
  }
  EXPECT_NEAR(fit_curves(observations).classes.at("ampere/ring").constants.bandwidth, kTruth.bandwidth, 0.01);
}

TEST(CurveFit, SameInputsGiveTheSameText) {
  const std::vector<FitObservation> observations = planted(kTruth, "a", 0.02);
  EXPECT_EQ(curve_table_text(fit_curves(observations), "test"), curve_table_text(fit_curves(observations), "test"));
}

// A class without a point of its own is its family; with other sources it is fitted by them.
TEST(CurveFit, LeavingASourceOutSaysWhatWasStillKnown) {
  std::vector<FitObservation> observations = planted(kTruth, "a", 0.0);
  const std::vector<LeftOut> alone = leave_one_source_out(observations);
  EXPECT_EQ(alone.front().evidence, CurveEvidence::kBorrowed);
  const std::vector<FitObservation> second = planted(kTruth, "b", 0.01);
  observations.insert(observations.end(), second.begin(), second.end());
  for (const LeftOut& row : leave_one_source_out(observations)) {
    EXPECT_EQ(row.evidence, CurveEvidence::kSameClass);
    EXPECT_LT(std::abs(row.log_error), 0.03);
  }
}

// Noise of -n, 0, n in turn: 4 of 5 residuals lie within n, and the band is about that.
TEST(CurveFit, BandCoversFourOfFive) {
  const std::vector<FitObservation> observations = planted(kTruth, "a", 0.06);
  const CurveTable table = fit_with_bands(observations);
  int inside = 0;
  for (const FitObservation& observation : observations) {
    const CurvePrediction prediction = predict(observation.shape, table, observation.size, observation.series);
    EXPECT_EQ(prediction.evidence, CurveEvidence::kOwnSeries);
    inside += observation.bus >= prediction.low && observation.bus <= prediction.high ? 1 : 0;
  }
  EXPECT_GE(inside, static_cast<int>(0.75 * static_cast<double>(observations.size())));
}

TEST(CurveFit, AnchorMovesTheCurveToTheLogAndNarrowsTheBand) {
  const CollectiveModels models = shipped_collective_models();
  CurveConstants slower = kTruth;
  slower.fill_s *= 2.0;
  const std::vector<FitObservation> own = planted(slower, "own", 0.005);
  const CurveTable table = anchored(models.curves, own);
  double worst = 0.0;
  for (const FitObservation& observation : own) {
    const CurvePrediction before = predict(observation.shape, models.curves, observation.size);
    const CurvePrediction after = predict(observation.shape, table, observation.size);
    EXPECT_EQ(after.evidence, CurveEvidence::kAnchored);
    EXPECT_LT(after.high / after.low, before.high / before.low);
    worst = std::max(worst, std::abs(after.bus / observation.bus - 1.0));
  }
  EXPECT_LT(worst, 0.1);
}

// Two logs of one system that differ by a factor of four can't both be followed: the band says so.
TEST(CurveFit, AnchorsThatContradictEachOtherWidenTheBand) {
  const CollectiveModels models = shipped_collective_models();
  std::vector<FitObservation> own = planted(kTruth, "own", 0.005);
  const std::vector<FitObservation> again = own;
  for (const FitObservation& observation : again) {
    own.push_back(observation);
    own.back().bus *= 0.25;
  }
  const CurveTable table = anchored(models.curves, own);
  for (const FitObservation& observation : again) {
    const CurvePrediction after = predict(observation.shape, table, observation.size);
    EXPECT_GT(after.high / after.low, 2.0);
  }
}

TEST(CurveFit, ConstantsSurviveTheirFile) {
  const CurveTable table = fit_with_bands(planted(kTruth, "a", 0.02));
  const std::string text = curve_table_text(table, "test");
  EXPECT_EQ(curve_table_text(parse_curve_table(text, "text"), "test"), text);
}

}  // namespace
}  // namespace trainyard::simulator
