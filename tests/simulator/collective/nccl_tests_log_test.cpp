#include "simulator/collective/nccl_tests_log.h"

#include <gtest/gtest.h>

#include "core/error.h"

namespace trainyard::simulator {
namespace {

// Of NVIDIA/dgxc-benchmarking nccl/README.md, shortened.
constexpr const char* kNew = R"(# nThread 1 nGpus 1 minBytes 8 maxBytes 17179869184 step: 2(factor)
# Using devices
#  Rank  0 Group  0 Pid 1006102 on pool0-01806 device  0 [0000:19:00] NVIDIA H100 80GB HBM3
#  Rank  1 Group  0 Pid 1005853 on pool0-01807 device  1 [0000:2d:00] NVIDIA H100 80GB HBM3
#  Rank  2 Group  0 Pid 1005853 on pool0-01807 device  1 [0000:2d:00] NVIDIA H100 80GB HBM3
#
#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong
#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)
           0             0     float     sum      -1    13.67    0.00    0.00      0    13.03    0.00    0.00      0
     1048576        262144     float     sum      -1    27.37   38.31   51.08      0    26.93   38.94   51.92      0
     2097152        524288     float     sum      -1    42.21   49.68   66.24    N/A    42.09   49.83   66.44    N/A
# Avg bus bandwidth    : 464.075
)";

TEST(NcclTestsLog, ReadsRanksNodesDeviceAndRows) {
  const NcclTestsLog log = parse_nccl_tests_log(kNew, "log.txt");
  EXPECT_EQ(log.op, CollectiveOp::kAllReduce);  // 51.08/38.31 = 4/3 = 2(3-1)/3
  EXPECT_EQ(log.ranks, 3);
  EXPECT_EQ(log.nodes, 2);
  EXPECT_EQ(log.device, "NVIDIA H100 80GB HBM3");
  ASSERT_EQ(log.rows.size(), 2U);
  EXPECT_DOUBLE_EQ(log.rows[0].size.si(), 1048576.0);
  EXPECT_DOUBLE_EQ(log.rows[0].time.si(), 27.37e-6);
}

// mpirun tags every line; without rank lines the factor 1.875 = 2 (16-1)/16 gives the ranks.
TEST(NcclTestsLog, ReadsTaggedOutputWithoutRankLines) {
  const NcclTestsLog log = parse_nccl_tests_log(
      "[1,0]<stdout>:    67108864      16777216     float     sum      -1    996.0   67.38  126.33      0   1001.7   "
      "66.99  "
      "125.62      0\n",
      "out");
  EXPECT_EQ(log.ranks, 16);
  EXPECT_FALSE(log.nodes);
  EXPECT_EQ(log.op, CollectiveOp::kAllReduce);
}

// Old format: no root column for all-gather; 7/8 at 8 ranks. The file's name tells it from all-to-all.
TEST(NcclTestsLog, ReadsTheOldFormat) {
  const std::string row =
      "     1048576         32768   float            87.42   11.99   10.50    N/A    88.90   11.79   10.32    N/A\n";
  EXPECT_EQ(parse_nccl_tests_log(row, "alltoall.log").op, CollectiveOp::kAllToAll);
  EXPECT_EQ(parse_nccl_tests_log(row, "all_gather_perf.txt").ranks, 8);
  EXPECT_THROW(parse_nccl_tests_log(row, "log.txt"), Error);
}

TEST(NcclTestsLog, WhatIsNotALogSaysSo) {
  EXPECT_THROW(parse_nccl_tests_log("", "empty"), Error);
  EXPECT_THROW(parse_nccl_tests_log("hello\nworld 1 2 3\n", "text"), Error);
  EXPECT_THROW(parse_nccl_tests_log(std::string(100000, '1'), "digits"), Error);
}

}  // namespace
}  // namespace trainyard::simulator
