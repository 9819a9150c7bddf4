// A checkpoint's manifest, `manifest.json`: what its files are. It is written last, so that a checkpoint without one
// isn't complete, and holds its own checksum, so that damage to it shows as well.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/plan/plan.h"
#include "core/plan/provenance.h"
#include "core/units/count.h"
#include "executor/worker/loss_scale.h"

namespace trainyard::executor {

constexpr int kCheckpointSchema = 1;

// Content hashes of what must be the same for a run to go on bit for bit.
struct CheckpointIdentity {
  std::string model;
  std::string layout;
  std::string training;
  std::string program;
  std::string data;
  friend bool operator==(const CheckpointIdentity&, const CheckpointIdentity&) = default;
};

CheckpointIdentity checkpoint_identity(const Plan& plan, const std::string& program_hash, const std::string& data_hash);

// Throws Error naming the part in which the run differs from the checkpoint at `where`.
void require_same(const CheckpointIdentity& run, const CheckpointIdentity& checkpoint, const std::string& where);

// One rank's file.
struct CheckpointPart {
  std::string file;
  ByteCount bytes;
  std::string checksum;  // content_hash.h, of the whole file
  friend bool operator==(const CheckpointPart&, const CheckpointPart&) = default;
};

struct CheckpointManifest {
  std::int64_t step = 0;  // steps done; the next one trains on samples from step * global batch on
  CheckpointIdentity identity;
  std::int64_t threads_per_rank = 1;         // other numbers may round otherwise
  std::optional<LossScaleState> loss_scale;  // of an fp16 run
  std::vector<CheckpointPart> parts;         // by rank
  Provenance provenance;

  ByteCount bytes() const;
};

std::filesystem::path manifest_file(const std::filesystem::path& checkpoint);

void write_manifest(const CheckpointManifest& manifest, const std::filesystem::path& checkpoint);
// Throws Error for one that isn't there, can't be read, or doesn't match its checksum.
CheckpointManifest read_manifest(const std::filesystem::path& checkpoint);

}  // namespace trainyard::executor
