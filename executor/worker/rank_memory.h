// RankMemory: a role's buffers in a device's memory.
//
// One allocation per buffer that lives from step to step, one arena for all others at their planned offsets.
// Nothing else that the executor allocates grows with the model but the rotary tables.
#pragma once

#include <cstddef>
#include <vector>

#include "core/program/program.h"
#include "executor/device/device.h"

namespace trainyard::executor {

class RankMemory {
 public:
  RankMemory(Device& device, const Role& role);
  ~RankMemory();
  RankMemory(const RankMemory&) = delete;
  RankMemory& operator=(const RankMemory&) = delete;

  // Another role of the same rank on the same memory (evaluation beside training): its persistent buffers
  // are those of this role with the same content and bucket, its arena lies in this one's.
  // A bug if it needs more than this role has.
  std::vector<std::byte*> addresses_for(const Role& role) const;
  const std::vector<std::byte*>& addresses() const { return addresses_; }

  struct Block {
    void* data = nullptr;
    ByteCount bytes;
  };
  // The allocations in which messages lie.
  std::vector<Block> communicated() const;

  ByteCount allocated() const { return allocated_; }  // as the device counts it

 private:
  std::byte* allocate(ByteCount bytes);

  Device& device_;
  const Role& role_;
  std::vector<std::byte*> owned_;
  std::byte* arena_ = nullptr;
  std::vector<std::byte*> addresses_;  // by BufferId
  ByteCount allocated_;
};

}  // namespace trainyard::executor
