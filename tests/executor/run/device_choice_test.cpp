// Which device a run takes, by what there is.
#include <gtest/gtest.h>

#include "core/error.h"
#include "executor/run/cuda_capabilities.h"
#include "executor/run/device_choice.h"
#include "executor/run/run_options.h"
#include "tests/support/error_of.h"

namespace trainyard::executor {
namespace {

const UsableGpus kNone{.count = 0, .problem = "no GPU driver on this machine", .nccl_problem = {}};
const UsableGpus kTwo{.count = 2, .problem = {}, .nccl_problem = {}};

std::string refusal(std::optional<DeviceKind> wanted, std::int64_t ranks, int ranks_per_gpu, const UsableGpus& gpus) {
  try {
    choose_device(wanted, ranks, ranks_per_gpu, gpus);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(DeviceChoice, auto_takes_gpus_where_every_rank_gets_its_own) {
  EXPECT_EQ(choose_device(std::nullopt, 1, 1, kNone).kind, DeviceKind::kCpu);
  EXPECT_EQ(choose_device(std::nullopt, 2, 1, kTwo).kind, DeviceKind::kCuda);
  EXPECT_EQ(choose_device(std::nullopt, 3, 1, kTwo).kind, DeviceKind::kCpu);
  EXPECT_EQ(choose_device(std::nullopt, 4, 2, kTwo).kind, DeviceKind::kCuda);
  EXPECT_EQ(choose_device(DeviceKind::kCpu, 1, 1, kTwo).kind, DeviceKind::kCpu);
}

TEST(DeviceChoice, without_nccl_one_gpu_is_all_that_auto_takes) {
  const UsableGpus alone{.count = 2, .problem = {}, .nccl_problem = "NCCL 2.28.5 may hang"};
  EXPECT_EQ(choose_device(std::nullopt, 1, 1, alone).kind, DeviceKind::kCuda);
  EXPECT_EQ(choose_device(std::nullopt, 2, 1, alone).kind, DeviceKind::kCpu);
  EXPECT_NE(refusal(DeviceKind::kCuda, 2, 1, alone).find("NCCL 2.28.5 may hang"), std::string::npos);
}

TEST(DeviceChoice, what_is_asked_for_and_not_there_is_an_error_that_says_why) {
  EXPECT_NE(refusal(DeviceKind::kCuda, 1, 1, kNone).find("no GPU driver on this machine"), std::string::npos);
  const std::string crowded = refusal(DeviceKind::kCuda, 3, 1, kTwo);
  EXPECT_NE(crowded.find("3 ranks don't fit 2 GPUs"), std::string::npos) << crowded;
  EXPECT_NE(crowded.find("--ranks-per-gpu"), std::string::npos) << crowded;
  EXPECT_NE(refusal(DeviceKind::kCuda, 5, 2, kTwo).find("raise"), std::string::npos);
  EXPECT_NE(refusal(std::nullopt, 1, 0, kTwo).find("--ranks-per-gpu"), std::string::npos);
  EXPECT_THROW(parse_device("gpu"), Error);
  EXPECT_EQ(parse_device("auto"), std::nullopt);
}

TEST(DeviceChoice, fp8_needs_a_gpu_that_has_it_or_the_cpu) {
  const DeviceChoice gpu{DeviceKind::kCuda, 1};
  const UsableGpus ampere{.count = 1, .problem = {}, .nccl_problem = {}, .compute_capability = 80};
  const UsableGpus hopper{.count = 1, .problem = {}, .nccl_problem = {}, .compute_capability = 90};
  const std::string refused = error_of([&] { require_products(DataType::kFp8, gpu, ampere); }).what();
  EXPECT_NE(refused.find("this one has 8.0"), std::string::npos) << refused;
  EXPECT_NE(refused.find("--precision bf16"), std::string::npos) << refused;
  EXPECT_NO_THROW(require_products(DataType::kFp8, gpu, hopper));
  EXPECT_NO_THROW(require_products(DataType::kBf16, gpu, ampere));
  EXPECT_NO_THROW(require_products(DataType::kFp8, {}, ampere));
}

TEST(DeviceChoice, ranks_that_share_gpus_lie_side_by_side_and_survive_the_ranks_arguments) {
  RunOptions options;
  options.folder = "runs/a";
  options.data = "text";
  options.device = {DeviceKind::kCuda, 2};
  const RunOptions read = from_arguments(to_arguments(options));
  EXPECT_EQ(read.device.kind, DeviceKind::kCuda);
  EXPECT_EQ(gpu_of(read.device, 3), 1);
  EXPECT_EQ(gpu_of({DeviceKind::kCuda, 1}, 3), 3);
  EXPECT_EQ(capabilities_of(DeviceKind::kCuda).device, "cuda");
}

}  // namespace
}  // namespace trainyard::executor
