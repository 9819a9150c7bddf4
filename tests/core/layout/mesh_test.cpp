#include "core/layout/mesh.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <tuple>

#include "core/error.h"

namespace trainyard {
namespace {

using Groups = std::vector<std::vector<int>>;

Layout degrees(int tp, int cp, int dp, int pp, int ep = 1, int etp = 1) {
  Layout layout;
  layout.tensor = tp;
  layout.context = cp;
  layout.data = dp;
  layout.pipeline = pp;
  layout.expert = ep;
  layout.expert_tensor = etp;
  return layout;
}

std::vector<int> numbers(const std::vector<Rank>& ranks) {
  std::vector<int> result;
  for (const Rank rank : ranks) {
    result.push_back(rank.value());
  }
  return result;
}

Groups groups_of(const Mesh& mesh, Axis axis) {
  Groups result;
  for (const std::vector<Rank>& group : mesh.groups(axis)) {
    result.push_back(numbers(group));
  }
  return result;
}

std::vector<Axis> all_axes() {
  return {Axis::kTensor, Axis::kContext,      Axis::kData,      Axis::kPipeline,
          Axis::kExpert, Axis::kExpertTensor, Axis::kExpertData};
}

TEST(Mesh, SixteenDevicesAreGroupedAsMegatronDocumentsIt) {
  // The doc comment of initialize_model_parallel (megatron/core/parallel_state.py) lists these for 16 GPUs with
  // tp 2 and pp 4, so dp = 16 / 8 = 2. rank = tp + 2 (dp + 2 pp): tp steps by 1, dp by 2, pp by 4.
  const Mesh mesh(degrees(2, 1, 2, 4));
  EXPECT_EQ(mesh.ranks(), 16);
  EXPECT_EQ(groups_of(mesh, Axis::kTensor),
            (Groups{{0, 1}, {2, 3}, {4, 5}, {6, 7}, {8, 9}, {10, 11}, {12, 13}, {14, 15}}));
  EXPECT_EQ(groups_of(mesh, Axis::kData),
            (Groups{{0, 2}, {1, 3}, {4, 6}, {5, 7}, {8, 10}, {9, 11}, {12, 14}, {13, 15}}));
  EXPECT_EQ(groups_of(mesh, Axis::kPipeline), (Groups{{0, 4, 8, 12}, {1, 5, 9, 13}, {2, 6, 10, 14}, {3, 7, 11, 15}}));
}

TEST(Mesh, ContextGroupsOfEightDevicesAreThoseMegatronDocuments) {
  // Same doc comment, context_parallel_size: tp 4, cp 2 gives [0,4] [1,5] [2,6] [3,7].
  EXPECT_EQ(groups_of(Mesh(degrees(4, 2, 1, 1)), Axis::kContext), (Groups{{0, 4}, {1, 5}, {2, 6}, {3, 7}}));
}

TEST(Mesh, ExpertsFactorTheSameRanksAnew) {
  // 16 ranks, tp 2, dp 4, pp 2; ep 4, etp 1, so edp = 2 * 4 / 4 = 2.
  // Expert: rank = ep + 4 (edp + 2 pp): ep steps by 1, edp by 4, pp by 8, as dense pp does (2 * 4).
  const Mesh mesh(degrees(2, 1, 4, 2, 4));
  EXPECT_EQ(mesh.size(Axis::kExpertData), 2);
  EXPECT_EQ(groups_of(mesh, Axis::kExpert), (Groups{{0, 1, 2, 3}, {4, 5, 6, 7}, {8, 9, 10, 11}, {12, 13, 14, 15}}));
  EXPECT_EQ(groups_of(mesh, Axis::kExpertData),
            (Groups{{0, 4}, {1, 5}, {2, 6}, {3, 7}, {8, 12}, {9, 13}, {10, 14}, {11, 15}}));
  const Coordinates at = mesh.coordinates(Rank(13));  // 13 = 1 + 2 (2 + 4 * 1) = 1 + 4 (1 + 2 * 1)
  EXPECT_EQ(at.tensor, 1);
  EXPECT_EQ(at.data, 2);
  EXPECT_EQ(at.pipeline, 1);
  EXPECT_EQ(at.expert, 1);
  EXPECT_EQ(at.expert_data, 1);
}

TEST(Mesh, ExpertTensorRanksAreInnermostWhereTensorRanksAre) {
  // etp 2, ep 2 of tp 2, dp 4: edp = 8 / 4 = 2; rank = etp + 2 (ep + 2 edp).
  const Mesh mesh(degrees(2, 1, 4, 1, 2, 2));
  EXPECT_EQ(groups_of(mesh, Axis::kExpertTensor), (Groups{{0, 1}, {2, 3}, {4, 5}, {6, 7}}));
  EXPECT_EQ(groups_of(mesh, Axis::kExpert), (Groups{{0, 2}, {1, 3}, {4, 6}, {5, 7}}));
  EXPECT_EQ(groups_of(mesh, Axis::kExpertData), (Groups{{0, 4}, {1, 5}, {2, 6}, {3, 7}}));
}

TEST(Mesh, AnotherOrderMovesThePipelineInward) {
  // tp-pp-dp: rank = tp + 2 (pp + 2 dp): pp steps by 2, dp by 4.
  Layout layout = degrees(2, 1, 2, 2);
  layout.rank_order = "tp-pp-dp-cp-ep";
  const Mesh mesh(layout);
  EXPECT_EQ(groups_of(mesh, Axis::kPipeline), (Groups{{0, 2}, {1, 3}, {4, 6}, {5, 7}}));
  EXPECT_EQ(groups_of(mesh, Axis::kData), (Groups{{0, 4}, {1, 5}, {2, 6}, {3, 7}}));
}

TEST(Mesh, EveryOrderCountsLikeAnOdometerWithItsFirstNameFastest) {
  // Walks the ranks in turn and moves an odometer of the four dense axes beside them.
  std::vector<std::string> names = {"cp", "dp", "ep", "pp", "tp"};
  do {
    Layout layout = degrees(2, 3, 2, 3);
    layout.rank_order = names[0] + "-" + names[1] + "-" + names[2] + "-" + names[3] + "-" + names[4];
    const Mesh mesh(layout);
    Coordinates odometer;
    for (int rank = 0; rank < mesh.ranks(); ++rank) {
      const Coordinates at = mesh.coordinates(Rank(rank));
      EXPECT_EQ(std::tie(at.tensor, at.context, at.data, at.pipeline),
                std::tie(odometer.tensor, odometer.context, odometer.data, odometer.pipeline))
          << layout.rank_order << " rank " << rank;
      EXPECT_EQ(mesh.rank_at(at), Rank(rank));
      for (const std::string& name : names) {
        if (name == "ep") {
          continue;
        }
        int& digit = name == "tp"   ? odometer.tensor
                     : name == "cp" ? odometer.context
                     : name == "dp" ? odometer.data
                                    : odometer.pipeline;
        const int size = name == "tp" || name == "dp" ? 2 : 3;
        digit = (digit + 1) % size;
        if (digit != 0) {
          break;
        }
      }
    }
  } while (std::next_permutation(names.begin(), names.end()));
}

TEST(Mesh, GroupsAlongAnyAxisPartitionTheRanks) {
  for (const std::string order : {"tp-cp-ep-dp-pp", "pp-tp-ep-cp-dp", "ep-dp-cp-tp-pp"}) {
    Layout layout = degrees(2, 2, 6, 3, 4, 2);
    layout.rank_order = order;
    const Mesh mesh(layout);
    for (const Axis axis : all_axes()) {
      std::set<Rank> seen;
      for (const std::vector<Rank>& group : mesh.groups(axis)) {
        ASSERT_EQ(static_cast<int>(group.size()), mesh.size(axis));
        for (std::size_t i = 0; i < group.size(); ++i) {
          EXPECT_TRUE(seen.insert(group[i]).second) << "rank in two groups";
          EXPECT_EQ(mesh.coordinates(group[i]).along(axis), static_cast<int>(i));
          EXPECT_EQ(mesh.group(axis, group[i]), group);
        }
      }
      EXPECT_EQ(static_cast<std::int64_t>(seen.size()), mesh.ranks()) << to_string(axis);
    }
  }
}

TEST(Mesh, MembersOfAGroupDifferAlongItsAxisOnly) {
  const Mesh mesh(degrees(2, 3, 2, 2));
  for (const Axis axis : {Axis::kTensor, Axis::kContext, Axis::kData, Axis::kPipeline}) {
    for (const std::vector<Rank>& group : mesh.groups(axis)) {
      for (const Axis other : {Axis::kTensor, Axis::kContext, Axis::kData, Axis::kPipeline}) {
        for (const Rank rank : group) {
          if (other != axis) {
            EXPECT_EQ(mesh.coordinates(rank).along(other), mesh.coordinates(group.front()).along(other));
          }
        }
      }
    }
  }
}

TEST(Mesh, ADefaultMeshIsOneRank) {
  const Mesh mesh;
  EXPECT_EQ(mesh.ranks(), 1);
  for (const Axis axis : all_axes()) {
    EXPECT_EQ(mesh.size(axis), 1);
    EXPECT_EQ(groups_of(mesh, axis), (Groups{{0}}));
  }
}

TEST(Mesh, OrdersThatAreNotAPermutationAreErrors) {
  for (const std::string order : {"", "tp-cp-dp-pp", "tp-tp-ep-dp-pp", "tp-cp-ep-dp-pp-", "TP-cp-ep-dp-pp", "tp,cp"}) {
    Layout layout;
    layout.rank_order = order;
    try {
      const Mesh mesh(layout);
      ADD_FAILURE() << "accepted '" << order << "'";
    } catch (const Error& error) {
      EXPECT_EQ(error.where(), "layout.rank_order");
      EXPECT_FALSE(error.hint().empty());
    }
  }
}

TEST(Mesh, DegreesThatCannotWorkAreErrors) {
  EXPECT_THROW(Mesh(degrees(0, 1, 1, 1)), Error);
  EXPECT_THROW(Mesh(degrees(1, 1, 1, -2)), Error);
  EXPECT_THROW(Mesh(degrees(2, 1, 2, 1, 3)), Error);                 // ep 3 of 4 ranks a stage
  EXPECT_THROW(Mesh(degrees(1, 1, 1 << 20, 1 << 12)), Error);        // 2^32 ranks
  EXPECT_THROW(Mesh(degrees(1 << 30, 1 << 30, 1 << 30, 2)), Error);  // overflows 64 bits
}

TEST(Mesh, FactorisationsThatDisagreeOnStagesAreErrors) {
  // tp-pp-...: dense pp steps by tp = 2, expert pp by etp = 1, so rank 1 would be on stages 0 and 1.
  Layout layout = degrees(2, 1, 2, 2, 2);
  layout.rank_order = "tp-pp-dp-cp-ep";
  EXPECT_THROW(Mesh{layout}, Error);
  layout.expert_tensor = 2;  // both step by 2 now
  EXPECT_NO_THROW(Mesh{layout});
  layout.rank_order = "pp-tp-dp-cp-ep";
  layout.expert_tensor = 1;
  EXPECT_NO_THROW(Mesh{layout});
}

}  // namespace
}  // namespace trainyard
