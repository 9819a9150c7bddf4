// Loading a checkpoint into a rank.
#pragma once

#include <filesystem>
#include <vector>

#include "executor/checkpoint/manifest.h"
#include "executor/device/device.h"
#include "executor/worker/state_slice.h"

namespace trainyard::executor {

// Fills every slice of `state` from the files of the checkpoint, whoever saved its parts. Reads only what the rank
// holds. The files have been verified (checkpoint_folder.h). Throws Error naming a tensor that isn't there whole.
void load_state(Device& device, const std::vector<StateSlice>& state, const std::filesystem::path& checkpoint,
                const CheckpointManifest& manifest);

}  // namespace trainyard::executor
