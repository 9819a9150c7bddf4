// A rank's file of a checkpoint: safetensors with one flat fp32 tensor for each saved slice.
//
// Which part of which tensor that is stands in the header's metadata, "slices":
//   {"NAME/momentum": {"shape": [rows, columns], "ranges": [[b, e], [b, e]], "flat": [b, e]}, ...}
// elements [b, e) of the row-major slice `ranges` of the whole tensor `shape`. GPT-2's query, key and value are one
// tensor side by side, of which a rank has its heads of each: there the last of `ranges` counts their columns turn by
// turn, [b, e) being [b / 3, e / 3) of each of the three (worker/tensor_slice.h). Nothing is padded, and nothing
// depends on where a rank kept it, so that ranks of another layout can find what they need.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "executor/checkpoint/manifest.h"
#include "executor/checkpoint/safetensors_file.h"
#include "executor/worker/state_slice.h"

namespace trainyard::executor {

// Host memory with the saved parts of a rank's slices, back to back in their order.
struct Snapshot {
  std::int64_t step = 0;
  std::vector<StateSlice> slices;  // those that save something
  std::span<float> values;         // someone else's memory
};

// Writes the file whole or not at all and says what it is. Throws Error naming the file.
CheckpointPart write_shard(const Snapshot& snapshot, const std::filesystem::path& file);

class ShardReader {
 public:
  // Throws Error for a header that is no shard's.
  explicit ShardReader(std::filesystem::path file);

  // Fills `values`, elements `wanted` of the slice's `ranges`, as far as this file holds them; returns how many that
  // were.
  std::int64_t read(const StateSlice& slice, IndexRange wanted, std::span<float> values) const;

 private:
  struct Part {
    std::vector<IndexRange> ranges;
    IndexRange flat;
  };
  void read_slices();

  SafetensorsReader tensors_;
  std::map<std::string, Part> parts_;
};

}  // namespace trainyard::executor
