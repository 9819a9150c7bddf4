#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "simulator/throughput/throughput_fit.h"
#include "simulator/throughput/validate_throughput.h"

namespace trainyard::simulator {
namespace {

// Korthikanti et al. 2022, table 5: 22 B with sequence parallelism, 1.10 s.
nlohmann::json row() {
  return nlohmann::json::parse(R"row({
    "id": "row", "source_key": "korthikanti-t5", "group": "g", "year": 2022, "score_ready": true,
    "model": {"name": "GPT 22B", "seq_len": 2048, "layers": 48, "hidden": 6144, "ffn_hidden": 24576, "heads": 64,
              "kv_heads": 64, "head_dim": 96, "vocab": 51200, "activation": "gelu", "attention": "MHA",
              "tied_embeddings": true},
    "hardware": {"gpu": "A100-SXM4-80GB", "gpus_total": 8, "gpus_per_node": 8,
                 "inter_node_link": "8x200 Gb/s HDR InfiniBand per DGX A100"},
    "parallelism": {"tp": 8, "pp": 1, "dp": 1, "cp": 1, "vpp": 1, "sequence_parallel": true, "micro_batch": 4,
                    "global_batch": 4, "grad_accum": 1, "recompute": "selective (attention core)",
                    "schedule": "no pipeline", "precision": "fp16",
                    "attention_kernel": "Megatron fused softmax (pre-flash)"},
    "measured": {"iteration_time_s": 1.1}, "derived": {"iteration_time_s": 1.1}})row");
}

ThroughputCase read(const nlohmann::json& one) {
  const std::string text = nlohmann::json::array({one}).dump();
  return make_case(parse_published_throughput(text, "rows.json").front(), {});
}

TEST(ThroughputRow, WordsBecomeLayoutMachineAndSoftware) {
  const ThroughputCase made = read(row());
  ASSERT_EQ(made.reason, "");
  ASSERT_EQ(made.layouts.size(), 1U);
  const Layout& layout = made.layouts.front();
  EXPECT_EQ(layout.tensor, 8);
  EXPECT_TRUE(layout.sequence_parallel);
  EXPECT_EQ(layout.recompute, Recompute::kSelective);
  EXPECT_EQ(layout.compute_type, DataType::kFp16);
  EXPECT_EQ(made.software.attention, AttentionKernel::kUnfused);
  EXPECT_EQ(made.machine.generation, "ampere");
  EXPECT_NEAR(made.machine.fabric.nic_bandwidth.value.si(), 25e9, 1);
  EXPECT_NEAR(made.tokens_per_s_per_gpu, 4 * 2048 / 1.1 / 8, 1e-9);
  EXPECT_FALSE(made.excluded);
}

TEST(ThroughputRow, KorthikantisSmallestIsPredictedWithinTenPercent) {
  const ThroughputValidation validation = validate_throughput({read(row())}, shipped_stacks(), {});
  EXPECT_NEAR(validation.rows.front().error, 0.0, 0.1);
}

TEST(ThroughputRow, NicRatesAreBytesASecondOfOneGpu) {
  EXPECT_NEAR(nic_rate("4x100 Gb/s Omni-Path per node", 8)->si(), 6.25e9, 1);
  EXPECT_NEAR(nic_rate("400 Gb/s RDMA per GPU", 8)->si(), 50e9, 1);
  EXPECT_NEAR(nic_rate("1600 Gb/s node-to-node RoCE", 8)->si(), 25e9, 1);
  EXPECT_NEAR(nic_rate("InfiniBand 8x50 GB/s", 8)->si(), 50e9, 1);
  EXPECT_FALSE(nic_rate("RoCE (rate not stated)", 8).has_value());
}

TEST(ThroughputRow, OpenMicroBatchIsPricedOverWhatItMayBeAndFlagged) {
  nlohmann::json open = row();
  open["parallelism"].erase("micro_batch");
  open["parallelism"].erase("grad_accum");
  const ThroughputCase made = read(open);
  ASSERT_EQ(made.reason, "");
  EXPECT_GT(made.layouts.size(), 1U);
  EXPECT_NE(std::find(made.flags.begin(), made.flags.end(), "micro_batch_open"), made.flags.end());
}

TEST(ThroughputRow, RowWithoutAModelSaysWhy) {
  nlohmann::json bare = row();
  bare["model"].erase("hidden");
  EXPECT_NE(read(bare).reason, "");
}

TEST(ThroughputRow, UnknownAcceleratorSaysWhich) {
  nlohmann::json other = row();
  other["hardware"]["gpu"] = "abacus";
  EXPECT_NE(read(other).reason.find("abacus"), std::string::npos);
}

// Whatever key a row lacks, it is priced or says why not.
TEST(ThroughputRow, NoMissingKeyIsABug) {
  const nlohmann::json whole = row();
  for (const char* part : {"model", "hardware", "parallelism", "measured", "derived"}) {
    for (const auto& [key, value] : whole.at(part).items()) {
      nlohmann::json lacking = whole;
      lacking[part].erase(key);
      const ThroughputCase made = read(lacking);
      if (made.reason.empty()) {
        const ThroughputValidation validation = validate_throughput({made}, shipped_stacks(), {});
        EXPECT_GT(validation.rows.front().predicted, 0.0) << part << "/" << key;
      }
    }
  }
}

// Slips of the keyboard: each gets a reason, or a finite price, in a moment.
TEST(ThroughputRow, NumbersNoRunCanHaveAreNamed) {
  const nlohmann::json whole = row();
  for (const std::string part : {"model", "parallelism", "hardware"}) {
    for (const auto& [key, stated] : whole.at(part).items()) {
      if (!stated.is_number()) {
        continue;
      }
      for (const double value : {0.0, -1.0, 1e15}) {
        nlohmann::json slip = whole;
        slip[part][key] = value;
        EXPECT_NE(read(slip).reason, "") << part << "/" << key << " " << value;
      }
    }
  }
  nlohmann::json headless = whole;
  headless["model"]["heads"] = 0;
  headless["model"].erase("head_dim");
  EXPECT_EQ(read(headless).reason, "model.heads is 0, not from 1 to 16384");
  nlohmann::json chunks = whole;
  chunks["parallelism"]["pp"] = 8;
  chunks["parallelism"]["vpp"] = 1000;
  EXPECT_EQ(read(chunks).reason, "pp 8 x vpp 1000 are more chunks than the 48 layers");
}

TEST(ThroughputRow, SpacesInAGpusNameDontMatter) {
  nlohmann::json pcie = row();
  pcie["hardware"]["gpu"] = "A100 PCIe 80GB";
  EXPECT_EQ(read(pcie).machine.accelerator.name, "a100-pcie-80");
  EXPECT_EQ(read(row()).machine.accelerator.name, "a100-sxm-80");
}

// Rows whose statements are doubtful are priced as stated, by a profile of their own; others of the source and the
// family don't learn from them.
TEST(ThroughputRow, DoubtfulGroupsStandApart) {
  const ThroughputExclusions exclusions = parse_throughput_exclusions(
      R"({"document": "throughput_exclusions", "schema": 1, "rows": [],
          "apart": [{"groups": ["g"], "reason": "why"}]})",
      "exclusions.json");
  nlohmann::json other = row();
  other["id"] = "other";
  other["group"] = "h";
  other["derived"]["iteration_time_s"] = 2.0;
  const std::string text = nlohmann::json::array({row(), other}).dump();
  const std::vector<ThroughputCase> cases = make_cases(parse_published_throughput(text, "rows.json"), exclusions);
  EXPECT_EQ(cases[0].flags.back(), "doubtful: why");
  EXPECT_EQ(stack_name(cases[0]), "g-ampere");
  EXPECT_EQ(stack_name(cases[1]), "megatron-2022-ampere");
  const std::vector<FitRow> rows = fit_rows(cases);
  const StackLibrary both = fit_stacks(rows);
  const StackLibrary without = fit_stacks({rows[1]});
  EXPECT_EQ(both.families.at("ampere-eager").constants, without.families.at("ampere-eager").constants);
  EXPECT_EQ(both.stacks.size(), 2U);
}

TEST(ThroughputRow, FilesWithoutRowsSaySo) {
  EXPECT_THROW(parse_published_throughput("[]", "rows.json"), Error);
  EXPECT_THROW(parse_published_throughput("[{}]", "rows.json"), Error);
}

TEST(ThroughputRow, AnchorSetsTheScaleOfItsStackAndNarrowsTheInterval) {
  nlohmann::json slow = row();
  slow["id"] = "slow";
  slow["derived"]["iteration_time_s"] = 1.5;
  const std::vector<ThroughputCase> cases = {read(row()), read(slow)};
  const ThroughputValidation plain = validate_throughput(cases, shipped_stacks(), {});
  const ThroughputValidation anchored = validate_throughput(cases, shipped_stacks(), {false, {"slow"}});
  // Constants take most of the anchor's log error and the scale half of what they leave; the rest counts as scatter.
  const double left = std::log1p(anchored.rows[1].error) / std::log1p(plain.rows[1].error);
  EXPECT_GT(left, 0.0);
  EXPECT_LT(left, 0.5);
  EXPECT_EQ(anchored.rows[0].evidence, StackEvidence::kAnchored);
  EXPECT_LT(anchored.rows[0].predicted, plain.rows[0].predicted);
  EXPECT_THROW(validate_throughput(cases, shipped_stacks(), {false, {"no such row"}}), Error);
}

}  // namespace
}  // namespace trainyard::simulator
