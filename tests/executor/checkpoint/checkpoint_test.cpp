// Checkpoints on the disk: what is saved, and that no damage to it goes unseen.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "core/document/read_file.h"
#include "executor/checkpoint/checkpoint_folder.h"
#include "executor/checkpoint/load_state.h"
#include "executor/checkpoint/manifest.h"
#include "executor/checkpoint/shard_file.h"
#include "executor/device/cpu_device.h"
#include "executor/worker/state_slice.h"
#include "tests/support/error_of.h"
#include "tests/support/temporary_folder.h"

namespace trainyard::executor {

namespace {

namespace fs = std::filesystem;

// A [4, 6] tensor of which rank r saves elements [12 r, 12 r + 12); both hold all of it.
StateSlice slice_of(int rank, StateKind kind) {
  StateSlice slice;
  slice.kind = kind;
  slice.parameter.name = "a.weight";
  slice.parameter.shape = {4, 6};
  slice.ranges = {{0, 4}, {0, 6}};
  slice.held = {0, 24};
  slice.saved = {12 * rank, 12 * rank + 12};
  return slice;
}

float value_of(StateKind kind, std::int64_t element) {
  return static_cast<float>(100 * static_cast<int>(kind) + element) / 7.0F;
}

// values: what its memory is.
Snapshot snapshot_of(int rank, std::vector<float>& values) {
  Snapshot snapshot;
  for (const StateKind kind : {StateKind::kParameter, StateKind::kMomentum}) {
    snapshot.slices.push_back(slice_of(rank, kind));
    for (std::int64_t i = 12 * rank; i < 12 * rank + 12; ++i) {
      values.push_back(value_of(kind, i));
    }
  }
  snapshot.values = values;
  return snapshot;
}

// checkpoints/step-N of two ranks.
fs::path save(const fs::path& checkpoints, std::int64_t step) {
  const fs::path folder = checkpoint_path(checkpoints, step);
  fs::create_directories(folder);
  CheckpointManifest manifest;
  manifest.step = step;
  manifest.identity = {.model = "m", .layout = "l", .training = "t", .program = "p", .data = "d"};
  manifest.provenance.version = "1";
  for (const int rank : {0, 1}) {
    std::vector<float> values;
    manifest.parts.push_back(
        write_shard(snapshot_of(rank, values), folder / ("rank-" + std::to_string(rank) + ".safetensors")));
  }
  write_manifest(manifest, folder);
  return folder;
}

void write(const fs::path& file, const std::string& bytes) { std::ofstream(file, std::ios::binary) << bytes; }

// What is chosen when step-8 is as it is now and step-4 is good.
class TwoCheckpoints : public testing::Test {
 protected:
  TwoCheckpoints() { save(checkpoints_, 4), newest_ = save(checkpoints_, 8); }

  void expect_refused(const std::string& why) {
    const CheckpointChoice choice = last_good_checkpoint(checkpoints_);
    ASSERT_TRUE(choice.manifest.has_value()) << why;
    EXPECT_EQ(choice.manifest->step, 4) << why;
    ASSERT_EQ(choice.refused.size(), 1U) << why;
    EXPECT_EQ(choice.refused[0].step, 8);
    EXPECT_TRUE(contains(choice.refused[0].why, why)) << choice.refused[0].why;
  }

  TemporaryFolder folder_;
  fs::path checkpoints_ = folder_.path() / "checkpoints";
  fs::path newest_;
};

}  // namespace

TEST_F(TwoCheckpoints, TheNewestIsChosenAndReadsBackBitForBit) {
  const CheckpointChoice choice = last_good_checkpoint(checkpoints_);
  ASSERT_TRUE(choice.manifest.has_value());
  EXPECT_EQ(choice.manifest->step, 8);
  EXPECT_TRUE(choice.refused.empty());
  std::vector<float> memory(48, -1.0F);
  std::vector<StateSlice> state;
  for (const StateKind kind : {StateKind::kParameter, StateKind::kMomentum}) {
    state.push_back(slice_of(1, kind));
    state.back().memory = memory.data() + 24 * static_cast<int>(kind);
  }
  const auto device = make_cpu_device({.threads = 1, .on_failure = {}});
  load_state(*device, state, newest_, *choice.manifest);
  for (std::int64_t i = 0; i < 24; ++i) {
    EXPECT_EQ(memory[static_cast<std::size_t>(i)], value_of(StateKind::kParameter, i));
    EXPECT_EQ(memory[static_cast<std::size_t>(24 + i)], value_of(StateKind::kMomentum, i));
  }
  state[0].ranges = {{0, 2}, {0, 6}};
  EXPECT_TRUE(contains(error_of([&] { load_state(*device, state, newest_, *choice.manifest); }).problem(),
                       "0 of 24 elements of 'a.weight'"));
}

// Cut within the header's length, within the header, at its end, in the data, by the last byte, and down to nothing.
TEST_F(TwoCheckpoints, AFileCutShortIsRefusedWhereverItIsCut) {
  const fs::path file = newest_ / "rank-1.safetensors";
  const std::string whole = read_text_file(file);
  const std::size_t data = whole.size() - 24 * sizeof(float);
  for (const std::size_t length : {std::size_t{0}, std::size_t{5}, std::size_t{40}, data, data + 3, whole.size() - 1}) {
    write(file, whole.substr(0, length));
    expect_refused("rank-1.safetensors has " + std::to_string(length) + " bytes");
  }
  write(file, whole + "x");
  expect_refused("rank-1.safetensors has");
}

TEST_F(TwoCheckpoints, AFlippedBitIsRefusedInEveryByteOfAFile) {
  const fs::path file = newest_ / "rank-0.safetensors";
  const std::string whole = read_text_file(file);
  for (std::size_t at = 0; at < whole.size(); ++at) {
    std::string flipped = whole;
    flipped[at] = static_cast<char>(flipped[at] ^ (1 << (at % 8)));
    write(file, flipped);
    expect_refused("rank-0.safetensors has other bytes than the manifest's checksum");
  }
  write(file, whole);
  EXPECT_EQ(last_good_checkpoint(checkpoints_).manifest->step, 8);
}

// A flip may turn one blank into nothing JSON minds; then the manifest says the same as before, and is read.
TEST_F(TwoCheckpoints, AFlippedBitOfTheManifestIsRefusedOrHarmless) {
  const fs::path file = manifest_file(newest_);
  const std::string whole = read_text_file(file);
  int refused = 0;
  for (std::size_t at = 0; at < whole.size(); ++at) {
    std::string flipped = whole;
    flipped[at] = static_cast<char>(flipped[at] ^ (1 << (at % 8)));
    write(file, flipped);
    const CheckpointChoice choice = last_good_checkpoint(checkpoints_);
    if (choice.manifest->step == 8) {
      EXPECT_TRUE(whole[at] == ' ' || whole[at] == '\n') << at;
      EXPECT_EQ(choice.manifest->parts, read_manifest(newest_).parts);
    } else {
      ++refused;
    }
  }
  EXPECT_GT(refused, 500);
  for (const std::size_t length : {std::size_t{0}, std::size_t{1}, whole.size() / 2, whole.size() - 3}) {
    write(file, whole.substr(0, length));
    expect_refused("manifest.json");
  }
}

TEST_F(TwoCheckpoints, WithoutItsManifestACheckpointIsAnUnfinishedSave) {
  fs::remove(manifest_file(newest_));
  expect_refused("no manifest");
  EXPECT_FALSE(last_good_checkpoint(checkpoints_).refused[0].complete);
  set_aside(last_good_checkpoint(checkpoints_).refused);
  EXPECT_FALSE(fs::exists(newest_));
}

TEST_F(TwoCheckpoints, AMissingFileIsNamedAndTheRestSetAside) {
  fs::remove(newest_ / "rank-0.safetensors");
  expect_refused("rank-0.safetensors is missing");
  set_aside(last_good_checkpoint(checkpoints_).refused);
  EXPECT_FALSE(fs::exists(newest_));
  EXPECT_TRUE(fs::exists(newest_.string() + ".damaged"));
  EXPECT_TRUE(last_good_checkpoint(checkpoints_).refused.empty());
}

TEST_F(TwoCheckpoints, AnothersManifestIsRefused) {
  fs::copy_file(manifest_file(checkpoint_path(checkpoints_, 4)), manifest_file(newest_),
                fs::copy_options::overwrite_existing);
  expect_refused("is of step 4");
}

TEST(Checkpoints, AreNoneInAFolderThatIsntThere) {
  const CheckpointChoice choice = last_good_checkpoint("/no/such/folder");
  EXPECT_FALSE(choice.manifest.has_value());
  EXPECT_TRUE(choice.refused.empty());
}

// Of 2, 4 (unfinished), 6, 8, 10 (unfinished: being written), the two newest whole ones and what is newer stay.
TEST(Checkpoints, OldOnesGoAndWhatIsBeingWrittenStays) {
  const TemporaryFolder folder;
  for (const std::int64_t step : {2, 4, 6, 8, 10}) {
    save(folder.path(), step);
  }
  fs::remove(manifest_file(checkpoint_path(folder.path(), 4)));
  fs::remove(manifest_file(checkpoint_path(folder.path(), 10)));
  remove_old_checkpoints(folder.path(), 2);
  for (const std::int64_t step : {2, 4, 6, 8, 10}) {
    EXPECT_EQ(fs::exists(checkpoint_path(folder.path(), step)), step >= 6) << step;
  }
}

namespace {

Plan plan_of(int tensor, int pipeline, int data, int zero) {
  Plan plan;
  plan.model.name = "small";
  plan.model.layers = 4;
  plan.model.hidden = 64;
  plan.model.feed_forward = 176;
  plan.model.heads = 4;
  plan.model.key_value_heads = 2;
  plan.model.head_size = 16;
  plan.model.vocabulary = 259;
  plan.model.positions = 64;
  plan.layout.tensor = tensor;
  plan.layout.pipeline = pipeline;
  plan.layout.data = data;
  plan.layout.zero_stage = zero;
  plan.layout.accumulation = 8 / data;
  plan.training.sequence = 32;
  plan.training.global_batch = 8;
  plan.training.steps = 1;
  return plan;
}

// Two stages hold the table.
Plan tied(Plan plan) {
  plan.model.tied_embeddings = true;
  return plan;
}

}  // namespace

// Under each layout the saved parts are every element of every parameter and of both moments, once. So ranks of any
// other layout find all they need.
TEST(StateSlices, SaveTheWholeStateOnceUnderEveryLayout) {
  for (const Plan& plan : {plan_of(1, 1, 1, 0), plan_of(1, 1, 4, 0), plan_of(1, 1, 4, 1), plan_of(1, 1, 4, 2),
                           plan_of(1, 1, 4, 3), plan_of(2, 1, 1, 0), plan_of(2, 2, 2, 1), plan_of(1, 4, 2, 1),
                           tied(plan_of(1, 2, 1, 0)), tied(plan_of(2, 4, 2, 1))}) {
    const Program program = compile(plan);
    std::map<std::string, std::int64_t> saved;
    std::map<std::string, std::vector<IndexRange>> parts;  // by tensor and slice
    for (std::int64_t rank = 0; rank < program.mesh.ranks(); ++rank) {
      for (const StateSlice& slice : state_slices(program, Rank(rank))) {
        EXPECT_GE(slice.saved.begin, slice.held.begin);
        EXPECT_LE(slice.saved.end, slice.held.end);
        saved[slice.name()] += slice.saved.size();
        std::string place = slice.name();
        for (const IndexRange& range : slice.ranges) {
          place += ' ';
          place += std::to_string(range.begin);
        }
        if (slice.saved.size() > 0) {
          parts[place].push_back(slice.saved);
        }
      }
    }
    for (auto& [place, ranges] : parts) {
      std::sort(ranges.begin(), ranges.end(), [](IndexRange a, IndexRange b) { return a.begin < b.begin; });
      for (std::size_t i = 0; i < ranges.size(); ++i) {
        EXPECT_EQ(ranges[i].begin, i == 0 ? 0 : ranges[i - 1].end) << place << ": no gap and no overlap";
      }
    }
    for (const Parameter& parameter : parameters(plan.model)) {
      std::int64_t elements = 1;
      for (const std::int64_t size : parameter.shape) {
        elements *= size;
      }
      for (const char* suffix : {"", "/momentum", "/variance"}) {
        EXPECT_EQ(saved[parameter.name + suffix], elements) << parameter.name << suffix;
      }
    }
    EXPECT_EQ(saved.size(), 3 * parameters(plan.model).size());
  }
}

}  // namespace trainyard::executor
