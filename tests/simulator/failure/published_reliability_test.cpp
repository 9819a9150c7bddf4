// The checks of reference/failures.md, section 3, that closed forms answer (numbers as there). Those of whole jobs
// and of Monte Carlo: job_reliability_test.cpp, monte_carlo_test.cpp.
#include <gtest/gtest.h>

#include <cmath>

#include "simulator/failure/checkpoint_efficiency.h"
#include "simulator/failure/count_law.h"
#include "simulator/failure/optimal_interval.h"
#include "simulator/failure/peer_copies.h"
#include "simulator/failure/replica_recovery.h"
#include "simulator/failure/series_system.h"

namespace trainyard::simulator {
namespace {

constexpr double kHour = 3600.0;
constexpr double kDay = 86400.0;

Seconds seconds(double value) { return from_si<Seconds>(value); }

// The best interval by brute force: efficiency on a grid of tenths of a second around a first guess.
double brute_force(Seconds blocking, Seconds mttf, bool recovery_can_fail, Seconds recovery) {
  double best = 0.0;
  double best_tau = 0.0;
  const double guess = daly_interval(blocking, mttf).si();
  for (double tau = 0.5 * guess; tau < 2.0 * guess; tau += 0.1) {
    const double value =
        efficiency({from_si<PerSecond>(1.0 / mttf.si()), seconds(tau), blocking, 0_s, recovery}, recovery_can_fail);
    if (value > best) {
      best = value;
      best_tau = tau;
    }
  }
  return best_tau;
}

// 1. 2,048 nodes at 3.79 per 1000 node-days: 7.762 a day, 419 in 54 days, one every 3.09 h.
TEST(PublishedReliability, Llama3CountAndMttfFollowFromTheRatePerNodeDay) {
  const PerSecond rate = rate_of_nodes(3.79, 2048);
  EXPECT_NEAR(rate.si() * 54.0 * kDay, 419.0, 419.0 * 0.001);
  EXPECT_NEAR(mean_time_to_failure(rate).si() / kHour, 3.09, 3.09 * 0.001);
}

// 2. 466 stops in 54 days, 15 minutes between checkpoints, w 5 s, D 0.865 x 30 + 0.135 x 600 = 107 s, R 420 s.
// Above 0.90 needs a mean loss below 0.1 x 54 d / 466 = 16.7 min.
TEST(PublishedReliability, Llama3EfficiencyIsNinetyPerCentWithTheDefaults) {
  const PerSecond rate = from_si<PerSecond>(466.0 / (54.0 * kDay));
  const Seconds detection = seconds(0.865 * 30.0 + 0.135 * 600.0);
  EXPECT_NEAR(efficiency({rate, 900_s, 5_s, 0_s, detection + 420_s}, false), 0.90, 0.01);
  EXPECT_NEAR(0.1 * mean_time_to_failure(rate).si() / 60.0, 16.7, 0.05);
}

// 3. RSC-1, 6.5 per 1000 node-days: 2,048 and 16,384 nodes.
TEST(PublishedReliability, Rsc1MttfByScale) {
  const double small = mean_time_to_failure(rate_of_nodes(6.50, 2048)).si() / kHour;
  const double large = mean_time_to_failure(rate_of_nodes(6.50, 16384)).si() / kHour;
  EXPECT_NEAR(small, 1.80, 1.80 * 0.005);
  EXPECT_NEAR(large, 0.225, 0.225 * 0.005);
  EXPECT_NEAR(large, 0.23, 0.23 * 0.03);
}

// 4. RSC-1, 16,000 GPUs, R 5 min, saves that cost nothing, every 60 and every 5 minutes.
TEST(PublishedReliability, Rsc1EfficiencyFirstOrderAndExact) {
  const PerSecond rate = rate_of_nodes(6.50, 2000);
  const CheckpointCycle hourly{rate, seconds(kHour), 0_s, 0_s, 300_s};
  const CheckpointCycle often{rate, 300_s, 0_s, 0_s, 300_s};
  EXPECT_NEAR(first_order_efficiency(hourly), 0.684, 0.005);
  EXPECT_NEAR(first_order_efficiency(often), 0.932, 0.005);
  EXPECT_NEAR(efficiency(hourly, true), 0.720, 0.005);
  EXPECT_NEAR(efficiency(often, true), 0.934, 0.005);
}

// 5. RSC-1, 8,000 GPUs, every 30 min; a minute in the queue adds to R = 5 min.
TEST(PublishedReliability, Rsc1EfficiencyWithAQueue) {
  const CheckpointCycle cycle{rate_of_nodes(6.50, 1000), 1800_s, 0_s, 0_s, 360_s};
  EXPECT_NEAR(first_order_efficiency(cycle), 0.905, 0.005);
}

// 6. FT-HSDP at 98,304 GPUs: one failure in 18 min. Everybody stopped for 10 min leaves (18 - 10)/18 = 0.444; a stall
// of 3 min and 7 min without one replica of 12, (8 + 7 x 11/12)/18 = 0.801.
TEST(PublishedReliability, FaultTolerantHsdp) {
  EXPECT_NEAR(published_replica_efficiency(seconds(18 * 60), {seconds(600), 0_s, 12}), 0.444, 0.002);
  EXPECT_NEAR(published_replica_efficiency(seconds(18 * 60), {seconds(180), seconds(420), 12}), 0.801, 0.002);
}

// Rare failures: the Poisson form's first order, 1 - lam s - lam b / K, is the published form.
TEST(PublishedReliability, ReplicaFormsAgreeForRareFailures) {
  const ReplicaRecovery recovery{180_s, 420_s, 12};
  const double mttf = 1e6;
  EXPECT_NEAR(replica_efficiency(from_si<PerSecond>(1.0 / mttf), recovery),
              published_replica_efficiency(seconds(mttf), recovery), 1e-7);
}

// 7. Daly, w 5 min, M 24 h: sqrt(2 x 5 x 1440) = 120 min.
TEST(PublishedReliability, DalyEasyCase) {
  const Seconds w = 300_s;
  const Seconds mttf = seconds(kDay);
  EXPECT_NEAR(young_interval(w, mttf).si() / 60.0, 120.0, 0.1);
  EXPECT_NEAR(daly_first_interval(w, mttf, 300_s).si() / 60.0, 115.2, 0.1);
  EXPECT_NEAR(daly_interval(w, mttf).si() / 60.0, 116.7, 0.1);
  EXPECT_NEAR(exact_interval(w, mttf).si() / 60.0, 116.7, 0.1);
}

// 8. w 600 s, M 3,600 s. The optimum doesn't depend on R, nor on whether recovery can fail.
TEST(PublishedReliability, DalyMediumCaseAgreesWithBruteForce) {
  EXPECT_NEAR(young_interval(600_s, 3600_s).si(), 2078.0, 1.0);
  EXPECT_NEAR(daly_interval(600_s, 3600_s).si(), 1698.0, 1.0);
  EXPECT_NEAR(exact_interval(600_s, 3600_s).si(), 1699.0, 1.0);
  EXPECT_NEAR(brute_force(600_s, 3600_s, false, 0_s), 1699.0, 1.0);
  EXPECT_NEAR(brute_force(600_s, 3600_s, true, 900_s), 1699.0, 1.0);
}

// 9. The hard case: a save half as long as the time between failures.
TEST(PublishedReliability, DalyHardCase) {
  EXPECT_NEAR(daly_interval(3600_s, 7200_s).si(), 5000.0, 1.0);
  EXPECT_NEAR(exact_interval(3600_s, 7200_s).si(), 5028.0, 1.0);
}

// 10. 6,000 s between failures, 600 s of recovery, 10 s saves, 15 s steps: 24 steps printed (sqrt(2 (M + R) w)), 22.7
// exact; between them the efficiency is flat.
TEST(PublishedReliability, OptimumInStepsIsFlat) {
  const Seconds exact = exact_interval(10_s, 6000_s);
  EXPECT_NEAR(exact.si() / 15.0, 22.7, 0.1);
  EXPECT_NEAR(exact.si() / 15.0, 24.0, 2.0);
  CheckpointCycle cycle{from_si<PerSecond>(1.0 / 6000.0), exact, 10_s, 0_s, 600_s};
  const double best = efficiency(cycle, false);
  cycle.interval = seconds(24 * 15);
  EXPECT_NEAR(efficiency(cycle, false), best, best * 0.001);
}

// 11. Gemini: 16 machines in pairs. Two lost hit one pair with 8 / C(16,2) = 1/15.
TEST(PublishedReliability, GeminiProbabilityOfRecoveryFromMemory) {
  EXPECT_NEAR(copies_survive(16, 2, 2), 14.0 / 15.0, 1e-12);
  EXPECT_NEAR(copies_survive(16, 2, 3), 0.8, 1e-12);
  EXPECT_EQ(copies_survive(16, 2, 1), 1.0);
  EXPECT_NEAR(copies_survive(2048, 2, 2), 0.99951, 1e-5);
}

// 12. Gemini's baseline: 530e9 parameters x 12 B over 20 Gb/s; save, half an interval (as long as a save), load.
TEST(PublishedReliability, GeminiBaselineWaste) {
  const Seconds save = seconds(530e9 * 12.0 / 2.5e9);
  EXPECT_NEAR(save.si() / 60.0, 42.0, 42.0 * 0.02);
  EXPECT_NEAR(waste_per_failure(save, save, save).si() / 60.0, 105.0, 105.0 * 0.02);
}

// 13. BLOOM: 40 s every 3 h, 40/10,800 = 0.37 %.
TEST(PublishedReliability, BloomSaveOverhead) {
  const double kept = efficiency({PerSecond{}, seconds(3 * kHour), 40_s, 0_s, 0_s}, true);
  EXPECT_NEAR(1.0 / kept - 1.0, 40.0 / 10800.0, 1e-12);
}

// 14. Ant: 0.27 % of GPUs a day; 1 - 0.9973^1000.
TEST(PublishedReliability, AntFailsMostDays) { EXPECT_NEAR(any_of(0.0027, 1000), 0.933, 0.001); }

// 15. OPT: 33 days of ideal compute in 56; 105 failures over the running time.
TEST(PublishedReliability, OptUptimeAndFailuresPerRunningHour) {
  const double uptime = 33.0 / 56.0;
  EXPECT_NEAR(uptime, 0.589, 0.01 * 0.589);
  const PerSecond rate = from_si<PerSecond>(105.0 / (uptime * 56.0 * kDay));
  EXPECT_NEAR(mean_time_to_failure(rate).si() / kHour, 7.5, 0.075);
}

// 16. 1.46 faults a node with Gamma frailty of shape 0.93: (k / (k + m))^k = 0.416 are never hit.
TEST(PublishedReliability, FrailtyConcentratesFaultsOnBadNodes) {
  const FrailtyStatistics s = frailty_statistics(0.93, 1.46);
  EXPECT_NEAR(s.never_hit, 0.423, 0.02);
  EXPECT_NEAR(s.worst_10pct, 0.409, 0.02);
  EXPECT_NEAR(s.worst_5pct, 0.245, 0.02);
  EXPECT_NEAR(s.variance_to_mean, 2.57, 0.02);
}

// Without frailty the same mean gives e^-1.46 = 23 % never hit: the trace is not Poisson.
TEST(PublishedReliability, WithoutFrailtyFewerNodesAreNeverHit) {
  EXPECT_NEAR(frailty_statistics(std::numeric_limits<double>::infinity(), 1.46).never_hit, std::exp(-1.46), 1e-9);
}

// 17. ByteRobust: of 1,024 nodes each fails with 1e-3; 99 % of the time 4 spares do.
TEST(PublishedReliability, SparesByBinomialP99) {
  EXPECT_EQ(binomial_quantile(1024, 1e-3, 0.99), 4);
  EXPECT_EQ(poisson_quantile(1.024, 0.99), 4);
}

// The trace's counts are overdispersed: mean 2.34 % of 400 = 9.4 down, P99 31. Poisson's P99 would be 17. A negative
// binomial with k such that its P99 is 31 has a variance/mean near 6.
TEST(PublishedReliability, SparesByPoissonAreTooFew) {
  EXPECT_EQ(poisson_quantile(9.36, 0.99), 17);
  EXPECT_NEAR(static_cast<double>(negative_binomial_quantile(9.36, shape_of_dispersion(9.36, 5.07), 0.99)), 31.0, 3.0);
}

// 18. 16,384 GPUs at 283 and 514 FIT: one every 9.0 and 4.9 days; Gemini expects one "every week or two" (7 to 14).
TEST(PublishedReliability, SilentCorruptionEveryWeekOrTwo) {
  const double rare = mean_time_to_failure(rate_of_fit(283, 16384)).si() / kDay;
  const double often = mean_time_to_failure(rate_of_fit(514, 16384)).si() / kDay;
  EXPECT_NEAR(rare, 9.0, 0.05);
  EXPECT_NEAR(often, 4.9, 0.05);
  EXPECT_GT(often, 7.0 / 2.0);
  EXPECT_LT(rare, 14.0 * 2.0);
}

// 19. 16,384 x 80 GB for 1,296 h at 117 FIT/GB.
TEST(PublishedReliability, UncorrectableMemoryErrors) {
  EXPECT_NEAR(rate_of_fit(117, 16384.0 * 80.0).si() * 1296.0 * kHour, 199.0, 1.99);
}

// 20. No failures leave tau / (tau + w); twice the nodes fail twice as often.
TEST(PublishedReliability, Limits) {
  EXPECT_EQ(efficiency({PerSecond{}, 900_s, 100_s, 0_s, 500_s}, true), 0.9);
  EXPECT_EQ(efficiency({PerSecond{}, 900_s, 100_s, 0_s, 500_s}, false), 0.9);
  EXPECT_DOUBLE_EQ(mean_time_to_failure(rate_of_nodes(3.79, 4096)).si(),
                   mean_time_to_failure(rate_of_nodes(3.79, 2048)).si() / 2.0);
  EXPECT_TRUE(std::isinf(mean_time_to_failure(PerSecond{}).si()));
}

// The table of defaults (section 2): 16,384 GPUs, w 5 s, D 107 s, R 420 s.
TEST(PublishedReliability, TableOfDefaults) {
  const PerSecond rate = rate_of_nodes(3.79, 2048);
  const auto at = [&](double tau) { return efficiency({rate, seconds(tau), 5_s, 0_s, 527_s}, false); };
  EXPECT_NEAR(at(300), 0.926, 0.0006);
  EXPECT_NEAR(at(900), 0.911, 0.0006);
  EXPECT_NEAR(at(1800), 0.877, 0.0006);
  EXPECT_NEAR(at(3600), 0.807, 0.0006);
  EXPECT_NEAR(exact_interval(5_s, mean_time_to_failure(rate)).si(), 330.0, 5.0);
}

// Meta's first-order form goes negative at 98,304 GPUs with hourly checkpoints, where the exact one gives 0.25; it says
// itself that it isn't to be trusted there.
TEST(PublishedReliability, FirstOrderIsNotTrustedFarOut) {
  const CheckpointCycle cycle{rate_of_nodes(3.79, 12288), seconds(kHour), 5_s, 0_s, 527_s};
  EXPECT_LT(first_order_efficiency(cycle), 0.0);
  EXPECT_FALSE(first_order_holds(cycle));
  EXPECT_NEAR(efficiency(cycle, false), 0.25, 0.005);
}

// A tiny save: W0 near its branch point loses all digits if the argument is formed plainly; Young's is the limit.
TEST(PublishedReliability, ExactIntervalOfATinySave) {
  const Seconds mttf = seconds(1e9);
  EXPECT_NEAR(exact_interval(seconds(1e-3), mttf) / young_interval(seconds(1e-3), mttf), 1.0, 1e-5);
  EXPECT_EQ(exact_interval(0_s, mttf).si(), 0.0);
  EXPECT_TRUE(std::isinf(exact_interval(5_s, seconds(std::numeric_limits<double>::infinity())).si()));
}

// Upsets in memory: sensitivity only. 1,000 FIT/Mbit behind 99.9 % coverage is 1 FIT/Mbit; 2,200 m (Los Alamos) has
// about 5.6 times the flux of sea level.
TEST(PublishedReliability, MemoryUpsets) {
  EXPECT_NEAR(memory_upsets(1000, 1e6, 1.0, 0.999) / rate_of_fit(1.0, 1e6), 1.0, 1e-9);
  EXPECT_NEAR(neutron_flux_factor(0), 1.0, 1e-12);
  EXPECT_NEAR(neutron_flux_factor(2200), 5.6, 0.6);
}

}  // namespace
}  // namespace trainyard::simulator
