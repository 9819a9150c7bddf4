#include <gtest/gtest.h>

#include <cmath>

#include "simulator/failure/corruption_flow.h"
#include "simulator/failure/corruption_sites.h"
#include "simulator/failure/detector.h"
#include "simulator/failure/float_format.h"
#include "simulator/failure/value_effect.h"
#include "tests/simulator/failure/job_fixture.h"

namespace trainyard::simulator {
namespace {

TEST(FloatFormat, EveryNumberOfSmallFormatsSurvivesARoundTrip) {
  for (const FloatFormat& format : {float_format(DataType::kFp8), kE5m2, float_format(DataType::kNvFp4),
                                    float_format(DataType::kFp16), float_format(DataType::kBf16)}) {
    for (std::uint64_t bits = 0; bits < std::uint64_t{1} << format.bits(); ++bits) {
      const double value = decode(format, bits);
      if (std::isfinite(value)) {
        ASSERT_EQ(encode(format, value), bits) << format.exponent_bits << " " << format.mantissa_bits;
      }
    }
  }
}

TEST(FloatFormat, KnownNumbers) {
  EXPECT_EQ(decode(float_format(DataType::kFp32), 0x3F800000), 1.0);
  EXPECT_EQ(decode(float_format(DataType::kBf16), 0x7F7F), 3.3895313892515355e38);
  EXPECT_EQ(decode(float_format(DataType::kFp8), 0x7E), 448.0);  // E4M3's largest
  EXPECT_TRUE(std::isnan(decode(float_format(DataType::kFp8), 0x7F)));
  EXPECT_EQ(decode(kE5m2, 0x7B), 57344.0);
  EXPECT_TRUE(std::isinf(decode(kE5m2, 0x7C)));
  EXPECT_EQ(encode(float_format(DataType::kFp8), 1e9), 0x7EU);
  EXPECT_EQ(encode(float_format(DataType::kBf16), 1.0 + 1.0 / 256.0), 0x3F80U);  // a tie goes to the even one
}

// One uniformly random bit flipped in values from N(0, 0.02) (fp8: N(0, 1)), percent of flips: the table of
// reference/failures/components.json ("bit_flip_effect", 4,000 drawn values). It groups |x'| > 1 where we say 50
// deviations: the same bound.
TEST(ValueEffect, ReproducesThePublishedTable) {
  struct Row {
    FloatFormat format;
    double deviation, not_finite, huge, outlier, large, moderate, small;
  };
  const Row rows[] = {{float_format(DataType::kFp32), 0.02, 0.0, 3.12, 0.48, 7.82, 34.36, 54.21},
                      {float_format(DataType::kBf16), 0.02, 0.0, 6.25, 0.9, 15.71, 68.75, 8.39},
                      {float_format(DataType::kFp16), 0.02, 0.0, 0.0, 7.17, 15.76, 49.9, 27.16},
                      {float_format(DataType::kFp8), 1.0, 0.21, 0.0, 9.69, 21.09, 69.0, 0.0},
                      {kE5m2, 1.0, 3.74, 6.5, 2.29, 18.81, 68.66, 0.0}};
  for (const Row& row : rows) {
    const ValueEffect effect = flip_effect(row.format, row.deviation);
    EXPECT_NEAR(100 * effect.not_finite, row.not_finite, 0.35);
    EXPECT_NEAR(100 * effect.huge, row.huge, 0.35);
    EXPECT_NEAR(100 * effect.outlier, row.outlier, 0.35);
    EXPECT_NEAR(100 * effect.large, row.large, 0.35);
    EXPECT_NEAR(100 * effect.moderate, row.moderate, 0.5);
    EXPECT_NEAR(100 * effect.small, row.small, 0.1);
  }
}

// Bit by bit in bf16: the sign changes by twice the value, the top exponent bit makes any weight astronomically large,
// the lowest mantissa bit changes by under 1 %.
TEST(ValueEffect, DependsOnTheBit) {
  const FloatFormat bf16 = float_format(DataType::kBf16);
  EXPECT_NEAR(flip_effect_of_bit(bf16, 0.02, 15).large, 1.0, 1e-9);
  EXPECT_NEAR(flip_effect_of_bit(bf16, 0.02, 14).huge, 1.0, 1e-9);
  EXPECT_NEAR(flip_effect_of_bit(bf16, 0.02, 0).small, 1.0, 0.02);
}

// Shares of one wrong value: half zeros, 1.01 % NaN or Inf. Eighteen of them show NaN or Inf in 1 - 0.9899^18 = 1/6 of
// incidents: AEGIS saw 3 of 18.
TEST(ValueEffect, ComputeErrorsFollowTheGateLevelStudyAndAegis) {
  const ComputeErrorValues values;
  const ValueEffect effect = compute_error_effect(float_format(DataType::kBf16), 1.0, values);
  EXPECT_NEAR(effect.not_finite + effect.huge + effect.outlier + effect.large + effect.moderate + effect.small, 1.0,
              1e-9);
  EXPECT_NEAR(effect.not_finite, 0.0101, 1e-9);
  EXPECT_GT(effect.moderate, 0.5068);
  EXPECT_NEAR(consequence(effect, values.values, 1.0).not_finite, 1.0 / 6.0, 0.003);
}

// A stored flip is likelier to be lethal than a compute error's value: fp32 3.6 %, bf16 7.2 % beyond anything usual.
TEST(ValueEffect, ConsequencesSumToOneAndGrowWithWhatLasts) {
  for (const SiteExposure& site : training_sites({1_GB, 1_GB, 1_GB, 1_GB, 1_GB})) {
    for (const Consequence& c : {site.compute_error, site.stored_bit}) {
      EXPECT_NEAR(c.masked + c.silent + c.visible + c.not_finite, 1.0, 1e-12) << to_string(site.site);
      EXPECT_GE(c.masked, 0.0);
    }
  }
  const ValueEffect effect = flip_effect(float_format(DataType::kBf16), 0.02);
  EXPECT_NEAR(consequence(effect, 1.0, 1.0).visible, 2.0 * consequence(effect, 1.0, 0.5).visible, 1e-12);
}

TEST(Detector, SeesOnlyWhatItCan) {
  const auto reach = [](DetectorKind kind, CorruptionCause cause, CorruptionSite site, std::int64_t replicas = 8) {
    return detector_reach(kind, cause, site, replicas).silent;
  };
  const CorruptionCause computed = CorruptionCause::kComputeError;
  const CorruptionCause stored = CorruptionCause::kStoredBit;
  // Before the gradient all-reduce every copy gets the same error.
  EXPECT_EQ(reach(DetectorKind::kReplicaHash, computed, CorruptionSite::kActivations), 0.0);
  EXPECT_EQ(reach(DetectorKind::kReplicaHash, stored, CorruptionSite::kWeights), 1.0);
  EXPECT_EQ(reach(DetectorKind::kReplicaHash, stored, CorruptionSite::kWeights, 1), 0.0);
  EXPECT_EQ(reach(DetectorKind::kGemmChecksum, computed, CorruptionSite::kActivations), 1.0);
  EXPECT_EQ(reach(DetectorKind::kGemmChecksum, stored, CorruptionSite::kWeights), 0.0);
  EXPECT_EQ(reach(DetectorKind::kLossSpike, computed, CorruptionSite::kActivations), 0.0);
}

CorruptionModel aegis() {
  CorruptionModel model;
  model.compute_errors = exactly(rate_of_fit(514, 16384));
  model.stored_bits = exactly(rate_of_fit(10, 16384));
  model.sites = training_sites({10_GB, 20_GB, 10_GB, 30_GB, 2_GB});
  model.detectors = {
      {DetectorKind::kGemmChecksum, {18.0 / 19.0, 0.8, 1.0}, {0.0086, 0.0086, 0.026}, {}, {}, exact_seconds(60)},
      {DetectorKind::kLossSpike,
       {0.5, 0.2, 0.9},
       {},
       exactly(from_si<PerSecond>(1.0 / kTestDay)),
       exact_seconds(864),
       exact_seconds(600)}};
  return model;
}

TEST(CorruptionFlow, EveryEventHasOneEnd) {
  for (const std::vector<DetectorKind>& on : {std::vector<DetectorKind>{},
                                              {DetectorKind::kGemmChecksum},
                                              {DetectorKind::kGemmChecksum, DetectorKind::kLossSpike}}) {
    const CorruptionRates total = corruption_flow(aegis(), on, 16).total;
    EXPECT_NEAR(total.masked + total.corrected + total.crash + total.found + total.undetected, total.events,
                1e-12 * total.events);
  }
}

TEST(CorruptionFlow, DetectorsFindWhatTheyCover) {
  const CorruptionFlow none = corruption_flow(aegis(), {}, 16);
  EXPECT_EQ(none.total.found, 0.0);
  const CorruptionFlow abft = corruption_flow(aegis(), {DetectorKind::kGemmChecksum}, 16);
  const auto computed = static_cast<std::size_t>(CorruptionCause::kComputeError);
  const auto stored = static_cast<std::size_t>(CorruptionCause::kStoredBit);
  // Compute errors land in products alone: 18 of 19 of what mattered and was silent are found, no stored bit.
  EXPECT_NEAR(abft.by_cause[computed].found, 18.0 / 19.0 * none.by_cause[computed].undetected, 1e-15);
  EXPECT_EQ(abft.by_cause[stored].found, 0.0);
  EXPECT_NEAR(abft.overhead, 0.0086, 1e-12);
  EXPECT_NEAR(abft.latency, 60.0, 1e-9);
  const CorruptionFlow both = corruption_flow(aegis(), {DetectorKind::kLossSpike, DetectorKind::kGemmChecksum}, 16);
  EXPECT_GT(both.total.found, abft.total.found);
  EXPECT_NEAR(both.alarm_share, 864.0 / kTestDay, 1e-12);
}

// What checksum hardware would buy: compute errors corrected before they are used.
TEST(CorruptionFlow, ChecksumHardwareLeavesNothingToFind) {
  CorruptionModel model = aegis();
  model.checksum_coverage = exactly(1.0);
  const CorruptionFlow flow = corruption_flow(model, {}, 16);
  const CorruptionRates& computed = flow.by_cause[static_cast<std::size_t>(CorruptionCause::kComputeError)];
  EXPECT_EQ(computed.undetected, 0.0);
  EXPECT_EQ(computed.corrected, computed.events);
}

// A detection latency longer than all kept saves poisons them: with keep 2 a fall back to the archive costs much more.
TEST(CorruptionFlow, RetentionShorterThanTheLatencyCosts) {
  JobModel job = plain_job();
  job.corruption = aegis();
  job.corruption.compute_errors = exactly(from_si<PerSecond>(1.0 / kTestDay));
  job.corruption.detectors[0].latency = exact_seconds(3600);
  job.policy.detectors = {DetectorKind::kGemmChecksum};
  job.checkpoints.archive_interval = test_seconds(kTestDay);
  job.checkpoints.keep = 2;
  const Reliability few = analyse(job);
  job.checkpoints.keep = 40;
  const Reliability many = analyse(job);
  EXPECT_GT(few.shares[TimeUse::kCorruption], 2.0 * many.shares[TimeUse::kCorruption]);
  EXPECT_FALSE(few.notes.empty());
  SimulationRequest request;
  request.runs = 200;
  request.threads = 2;
  job.checkpoints.keep = 2;
  EXPECT_NEAR(simulate_job(job, request).shares[TimeUse::kCorruption], few.shares[TimeUse::kCorruption],
              0.15 * few.shares[TimeUse::kCorruption]);
}

}  // namespace
}  // namespace trainyard::simulator
