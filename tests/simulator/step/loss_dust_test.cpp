#include "simulator/step/loss_dust.h"

#include <gtest/gtest.h>

namespace trainyard::simulator {
namespace {

StepLosses losses_of(double ideal, double gemm, double transfer, double imbalance) {
  StepLosses losses{};
  losses[static_cast<std::size_t>(StepLoss::kIdeal)] = from_si<Seconds>(ideal);
  losses[static_cast<std::size_t>(StepLoss::kGemm)] = from_si<Seconds>(gemm);
  losses[static_cast<std::size_t>(StepLoss::kTransfer)] = from_si<Seconds>(transfer);
  losses[static_cast<std::size_t>(StepLoss::kImbalance)] = from_si<Seconds>(imbalance);
  return losses;
}

// 2.22e-16 s and -3e-3 s go; the products, largest but the ideal, take them: 1 - 0.003.
TEST(LossDust, GoesToTheLargestPartBesideTheIdeal) {
  const StepLosses shown = without_dust(losses_of(2.0, 1.0, 2.22e-16, -3e-3));
  EXPECT_EQ(shown[static_cast<std::size_t>(StepLoss::kIdeal)].si(), 2.0);
  EXPECT_DOUBLE_EQ(shown[static_cast<std::size_t>(StepLoss::kGemm)].si(), 0.997);
  EXPECT_EQ(shown[static_cast<std::size_t>(StepLoss::kTransfer)].si(), 0.0);
  EXPECT_EQ(shown[static_cast<std::size_t>(StepLoss::kImbalance)].si(), 0.0);
}

TEST(LossDust, LeavesWhatCounts) {
  const StepLosses losses = losses_of(2.0, 1.0, 2e-9, 3e-3);
  EXPECT_EQ(without_dust(losses), losses);
}

}  // namespace
}  // namespace trainyard::simulator
