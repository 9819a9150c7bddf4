// The checkpoints of a run: `checkpoints/step-N/` with a file per rank and, once all are whole, a manifest.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "executor/checkpoint/manifest.h"

namespace trainyard::executor {

// Of one checkpoint in the folder of all.
std::filesystem::path checkpoint_path(const std::filesystem::path& checkpoints, std::int64_t step);

// Throws Error naming a file that is missing, of another size, or whose bytes don't have the manifest's checksum.
void verify_checkpoint(const std::filesystem::path& checkpoint, const CheckpointManifest& manifest);

struct RefusedCheckpoint {
  std::filesystem::path folder;
  std::int64_t step = 0;
  bool complete = false;  // a manifest is there: something damaged it since. Else a save that never ended.
  std::string why;
};

struct CheckpointChoice {
  std::optional<CheckpointManifest> manifest;  // none: there is no good one
  std::vector<RefusedCheckpoint> refused;      // newer than it, newest first
};

// The newest checkpoint that is whole, every byte read.
CheckpointChoice last_good_checkpoint(const std::filesystem::path& checkpoints);

// Brings names given in the folder to the disk, where its file system can.
void flush_folder(const std::filesystem::path& folder);

// Takes refused checkpoints out of the way of the saves to come: unfinished ones are removed, damaged ones renamed to
// step-N.damaged for whoever wants to look at them.
void set_aside(const std::vector<RefusedCheckpoint>& refused);

// Removes complete checkpoints but the `keep` newest, and unfinished ones older than those. What can't be removed
// stays.
void remove_old_checkpoints(const std::filesystem::path& checkpoints, std::int64_t keep);

}  // namespace trainyard::executor
