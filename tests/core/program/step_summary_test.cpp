#include "core/program/step_summary.h"

#include <gtest/gtest.h>

#include <map>
#include <sstream>

#include "tests/core/program/layouts.h"
#include "tests/core/program/tiny_plan.h"

namespace trainyard {
namespace {

using testing::layouts_of;
using testing::tiny_plan;

const Role& first_role(const Program& program, int stage) {
  const Rank rank = program.mesh.rank_at({.pipeline = stage});
  return program.role_of(rank);
}

std::string name(const Segment& segment, InstructionKind kind, bool accumulate) {
  std::ostringstream out;
  out << to_string(segment.kind) << (segment.adds_branch ? "+" : "") << ' ' << to_string(kind)
      << (accumulate ? " accumulating" : "");
  return out.str();
}

std::string name(const Communication& c) {
  std::ostringstream out;
  out << to_string(c.kind) << ' ' << to_string(c.algorithm) << " group " << c.group.value() << ' ' << c.elements
      << " x " << to_string(c.type) << " sends " << c.sent.value() << " in " << c.messages;
  return out.str();
}

std::map<std::string, std::int64_t> counts(const Program& program, const Role& role) {
  std::map<std::string, std::int64_t> all;
  for (const Instruction& instruction : role.instructions) {
    if (instruction.segment) {
      all[name(program.segments[instruction.segment->at()], instruction.kind, instruction.accumulate)] += 1;
    }
    if (instruction.communication) {
      all[name(*instruction.communication)] += 1;
    }
  }
  return all;
}

std::map<std::string, std::int64_t> counts(const StepSummary& summary, const StageSummary& stage) {
  std::map<std::string, std::int64_t> all;
  for (const SegmentCount& count : stage.segments) {
    all[name(summary.segments[count.segment.at()], count.kind, count.accumulate)] += count.count;
  }
  for (const CommunicationCount& count : stage.communications) {
    all[name(count.communication)] += count.count;
  }
  return all;
}

std::vector<Layout> summarised_layouts() {
  std::vector<Layout> all;
  for (int ranks : {1, 2, 4, 8}) {
    const auto some = layouts_of(ranks);
    all.insert(all.end(), some.begin(), some.end());
  }
  Layout interleaved;
  interleaved.pipeline = 2;
  interleaved.chunks_per_stage = 2;
  interleaved.schedule = ScheduleKind::kInterleaved;
  interleaved.accumulation = 4;
  all.push_back(interleaved);
  return all;
}

// Llama's block; with a tied table, of which two stages of a pipeline have a copy each; GPT-2's.
std::vector<Plan> summarised_plans(std::int64_t sequence = 32) {
  std::vector<Plan> plans;
  for (const Layout& layout : summarised_layouts()) {
    plans.push_back(tiny_plan(layout, sequence));
    plans.push_back(plans.back());
    plans.back().model.tied_embeddings = true;
    ModelSpec gpt2 = testing::gpt2_model();
    gpt2.layers = plans.front().model.layers;
    gpt2.vocabulary = plans.front().model.vocabulary;
    plans.push_back(plans.back());
    plans.back().model = gpt2;
  }
  return plans;
}

TEST(StepSummary, CountsWhatTheProgramLists) {
  for (const Plan& plan : summarised_plans()) {
    const Layout& layout = plan.layout;
    const Program program = compile(plan);
    const StepSummary summary = summarize(plan);
    ASSERT_EQ(summary.stages.size(), static_cast<std::size_t>(layout.pipeline));
    for (const StageSummary& stage : summary.stages) {
      EXPECT_EQ(counts(summary, stage), counts(program, first_role(program, stage.stage)))
          << describe(layout) << " stage " << stage.stage;
    }
  }
}

TEST(StepSummary, PersistentMemoryIsExactAndThePeakIsNear) {
  for (const Plan& plan : summarised_plans(128)) {
    const Layout& layout = plan.layout;
    const Program program = compile(plan);
    for (const StageSummary& stage : summarize(plan).stages) {
      const Role& role = first_role(program, stage.stage);
      EXPECT_EQ(stage.persistent, role.persistent_bytes);
      EXPECT_NEAR(stage.peak_estimate.quantity() / memory_profile(role).peak.quantity(), 1.0, 0.10)
          << describe(layout) << " stage " << stage.stage;
    }
  }
}

}  // namespace
}  // namespace trainyard
