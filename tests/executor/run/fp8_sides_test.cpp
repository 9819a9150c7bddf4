// What a plan in fp8 is told before it is started on GPUs. The small model: hidden 64, 176 feed-forward columns, 4
// query and 2 key heads of 16, so that queries, keys and values have 128 columns; sequences of 32 tokens. All are
// multiples of 16, and 176 / 2 = 88 is none. Its vocabulary of 259 is the head's, which stays in bf16.
#include "executor/run/fp8_sides.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <set>

#include "core/program/program.h"
#include "executor/run/launch_run.h"
#include "tests/executor/run/run_support.h"
#include "tests/executor/worker/layout_cases.h"
#include "tests/support/error_of.h"
#include "tests/support/temporary_folder.h"

namespace trainyard::executor {
namespace {

Plan fp8_plan(int tensor = 1) {
  Layout layout = bf16_layout();
  layout.compute_type = DataType::kFp8;
  layout.tensor = tensor;
  layout.accumulation = 8;
  return small_plan(layout);
}

Plan of_sequence(std::int64_t sequence, std::int64_t micro_batch) {
  Plan plan = fp8_plan();
  plan.training.sequence = sequence;
  plan.layout.micro_batch = micro_batch;
  plan.layout.accumulation = plan.training.global_batch / micro_batch;
  return plan;
}

TEST(Fp8Sides, OfMultiplesOfSixteenAreTaken) {
  EXPECT_NO_THROW(require_fp8_sides(fp8_plan()));
  EXPECT_NO_THROW(require_fp8_sides(of_sequence(40, 2)));  // 80 tokens
}

TEST(Fp8Sides, ThatTensorParallelismCutsTooSmallNameTheProductAndTheDegree) {
  const Error error = error_of([] { require_fp8_sides(fp8_plan(2)); });
  EXPECT_EQ(error.where(), "plan#/layout/compute_type");
  EXPECT_TRUE(contains(error.problem(), "multiples of 16")) << error.what();
  EXPECT_TRUE(contains(error.problem(), "\"mlp\" has 32 tokens, 64 outputs and 88 inputs")) << error.what();
  EXPECT_TRUE(contains(error.hint(), "--tp 2")) << error.what();
  EXPECT_FALSE(contains(error.hint(), "--micro-batch")) << error.what();
}

TEST(Fp8Sides, OfTokensNameMicroBatchAndSequence) {
  const Error error = error_of([] { require_fp8_sides(of_sequence(40, 1)); });
  EXPECT_TRUE(contains(error.problem(), "40 tokens, 128 outputs and 64 inputs")) << error.what();
  EXPECT_TRUE(contains(error.hint(), "--micro-batch x --sequence, 1 x 40")) << error.what();
  EXPECT_FALSE(contains(error.hint(), "--tp")) << error.what();
}

TEST(Fp8Sides, AreNoMatterOfOtherTypes) {
  Plan plan = of_sequence(40, 1);
  plan.layout.compute_type = DataType::kBf16;
  EXPECT_NO_THROW(require_fp8_sides(plan));
}

// So that forward products tell all: of llama's layers and of GPT-2's, whose weights are stored the other way round.
TEST(Fp8Sides, OfBackwardProductsAreThoseOfForwardOnes) {
  Plan gpt2 = fp8_plan();
  gpt2.model = small_gpt2(true);
  for (const Plan& plan : {fp8_plan(), gpt2}) {
    int backward = 0;
    for (const Segment& segment : compile(plan).segments) {
      const auto sides = [](const Operation& operation) {
        const auto* gemm = std::get_if<Gemm>(&operation);
        std::array<std::int64_t, 3> all{};
        if (gemm != nullptr && gemm->type == DataType::kFp8) {
          all = {gemm->m, gemm->n, gemm->k};
          std::sort(all.begin(), all.end());
        }
        return all;
      };
      std::set<std::array<std::int64_t, 3>> forward;
      for (const Operation& operation : segment.forward) {
        forward.insert(sides(operation));
      }
      for (const Pass pass : {Pass::kBackwardInput, Pass::kBackwardWeight}) {
        for (const Operation& operation : segment.operations(pass)) {
          const auto of_this = sides(operation);
          backward += of_this[0] > 0 ? 1 : 0;
          EXPECT_TRUE(of_this[0] == 0 || forward.contains(of_this));
        }
      }
    }
    EXPECT_GE(backward, 2 * 4);  // a layer's four products, twice
  }
}

// No rank is started, and no GPU is needed to be told. The CPU multiplies any sides.
TEST(Fp8Sides, AreCheckedBeforeARunIsStarted) {
  const TemporaryFolder folder;
  RunOptions options;
  options.folder = folder.path() / "run";
  options.data = folder.write("text.txt", pseudo_text(20000));
  options.device.kind = DeviceKind::kCuda;
  const auto refusal = [&] { return error_of([&] { launch_run(fp8_plan(2), options, "/no/such/program", {}); }); };
  EXPECT_EQ(refusal().where(), "plan#/layout/compute_type");
  EXPECT_FALSE(std::filesystem::exists(options.folder));
  options.device.kind = DeviceKind::kCpu;
  EXPECT_TRUE(contains(refusal().problem(), "/no/such/program"));
}

}  // namespace
}  // namespace trainyard::executor
