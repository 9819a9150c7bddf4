#include "simulator/collective/hamiltonian_rings.h"

#include <gtest/gtest.h>

#include <array>

namespace trainyard::simulator {
namespace {

// Published for the first n GPUs of a DGX-1V at 22.5 GB/s a ring: 22.5, 45, 90, none, 45, 90, 135 GB/s.
TEST(HamiltonianRings, DgxOneGivesOneTwoFourNoneTwoFourSixRings) {
  constexpr std::array<int, 7> kRings = {1, 2, 4, 0, 2, 4, 6};
  for (int gpus = 2; gpus <= 8; ++gpus) {
    EXPECT_EQ(cube_mesh_rings(gpus), kRings.at(static_cast<std::size_t>(gpus - 2))) << gpus << " GPUs";
  }
}

TEST(HamiltonianRings, DgxOneHasSixLinksAGpuBothWays) {
  const std::vector<std::vector<int>> links = cube_mesh_links(8);
  for (std::size_t i = 0; i < 8; ++i) {
    int degree = 0;
    for (std::size_t j = 0; j < 8; ++j) {
      degree += links[i][j];
      EXPECT_EQ(links[i][j], links[j][i]);
    }
    EXPECT_EQ(degree, 6);
  }
}

// The complete graph on 5 vertices splits into two Hamiltonian cycles (Walecki); a path has none.
TEST(HamiltonianRings, CompleteGraphOfFiveHoldsTwoCyclesAndAPathNone) {
  std::vector<std::vector<int>> complete(5, std::vector<int>(5, 1));
  for (std::size_t i = 0; i < 5; ++i) {
    complete[i][i] = 0;
  }
  EXPECT_EQ(edge_disjoint_cycles(complete), 2);
  EXPECT_EQ(edge_disjoint_cycles({{0, 1, 0}, {1, 0, 1}, {0, 1, 0}}), 0);
}

}  // namespace
}  // namespace trainyard::simulator
