#include "executor/checkpoint/load_state.h"

#include "core/error.h"
#include "executor/checkpoint/shard_file.h"
#include "executor/worker/float_transfer.h"

namespace trainyard::executor {

void load_state(Device& device, const std::vector<StateSlice>& state, const std::filesystem::path& checkpoint,
                const CheckpointManifest& manifest) {
  std::vector<ShardReader> shards;
  for (const CheckpointPart& part : manifest.parts) {
    shards.emplace_back(checkpoint / part.file);
  }
  std::vector<float> values;
  for (const StateSlice& slice : state) {
    values.resize(static_cast<std::size_t>(slice.held.size()));
    std::int64_t filled = 0;
    for (const ShardReader& shard : shards) {
      // Saved parts don't overlap, so that what is filled is whole when the count is.
      filled += filled < slice.held.size() ? shard.read(slice, slice.held, values) : 0;
    }
    if (filled != slice.held.size()) {
      throw Error("holds " + std::to_string(filled) + " of " + std::to_string(slice.held.size()) + " elements of '" +
                      slice.name() + "'",
                  checkpoint.string(), "it was saved under another layout; resume with the plan that began the run");
    }
    write_floats(device, slice.memory, values.data(), slice.held.size());
  }
}

}  // namespace trainyard::executor
