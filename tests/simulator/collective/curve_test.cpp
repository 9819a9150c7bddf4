#include "simulator/collective/curve.h"

#include <gtest/gtest.h>

#include <cmath>

#include "simulator/collective/collective_models.h"

namespace trainyard::simulator {
namespace {

Curve sample_curve() {
  Curve curve;
  curve.floor_s = 20e-6;
  curve.wire_factor = 1.75;
  curve.bandwidth = 400e9;
  curve.sharpness = 1.3;
  curve.levels = {{14.0, 0.9e-6, 2.7e-6, 4e5}};
  return curve;
}

// t(0) = (H^p + (D a)^p)^(1/p); t(inf)/w -> 1/B.
TEST(Curve, StartsAtTheFloorAndEndsAtTheWire) {
  const Curve curve = sample_curve();
  const double at_zero = std::pow(std::pow(20e-6, 1.3) + std::pow(14 * 0.9e-6, 1.3), 1.0 / 1.3);
  EXPECT_NEAR(curve.time(Bytes()).si(), at_zero, 1e-12);
  EXPECT_NEAR(curve.bus_bandwidth(from_si<Bytes>(1e15)).si(), 400e9, 400e9 * 1e-4);
}

TEST(Curve, GrowsWithSizeWithoutJumpsAndNeverGainsFromLessBandwidth) {
  const Curve fast = sample_curve();
  Curve slow = fast;
  slow.bandwidth *= 0.5;
  double before = fast.time(from_si<Bytes>(8.0)).si();
  for (double size = 8.0; size < 1e11; size *= 1.01) {
    const double time = fast.time(from_si<Bytes>(size)).si();
    EXPECT_GE(time, before);
    EXPECT_LE(time, before * 1.0101);  // never faster than in proportion to the size
    EXPECT_GE(slow.time(from_si<Bytes>(size)).si(), time);
    before = time;
  }
}

// Every shipped class, every operation on a usual site: more of any resource never slows.
TEST(Curve, ShippedCurvesAreMonotoneInSizeAndInNics) {
  const CollectiveModels models = shipped_collective_models();
  CollectiveSite site;
  site.nvls = true;
  site.nodes = 4;
  site.ranks = 32;
  site.nics = 8;
  site.nic_rate = 400_Gbps;
  CollectiveSite slower = site;
  slower.nic_rate = 200_Gbps;
  for (int op = 0; op < kCollectiveOps; ++op) {
    const auto operation = static_cast<CollectiveOp>(op);
    for (const NcclAlgorithm algorithm : possible_algorithms(site, operation, models.facts)) {
      const Curve fast = make_curve(curve_shape(site, operation, algorithm, models.facts), models.curves);
      const Curve slow = make_curve(curve_shape(slower, operation, algorithm, models.facts), models.curves);
      double before = 0.0;
      for (double size = 64.0; size < 1e11; size *= 2.0) {
        const double time = fast.time(from_si<Bytes>(size)).si();
        EXPECT_GT(time, before);
        EXPECT_LE(time, slow.time(from_si<Bytes>(size)).si());
        before = time;
      }
    }
  }
}

}  // namespace
}  // namespace trainyard::simulator
