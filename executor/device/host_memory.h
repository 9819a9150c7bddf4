// HostMemory: zeroed, touched memory on huge pages, kept until freed.
//
// Why not malloc: first touch of 4-KiB pages runs at 0.3 GB/s on a virtual machine against 11 GB/s with huge
// pages, and glibc gives big blocks back to the kernel each time (measured, executor.md section 2).
// Blocks of kHugePage and more are mapped alone; smaller ones are cut from shared huge pages, so that many
// small buffers cost little more than their size. Aligned to kAlignment. Not thread safe.
#pragma once

#include <cstddef>
#include <map>
#include <vector>

#include "core/units/count.h"

namespace trainyard::executor {

constexpr std::size_t kHugePage = std::size_t{2} << 20;
constexpr std::size_t kAlignment = 256;

class HostMemory {
 public:
  HostMemory() = default;
  ~HostMemory();
  HostMemory(const HostMemory&) = delete;
  HostMemory& operator=(const HostMemory&) = delete;

  // Throws Error when the system has no memory left. 0 bytes: a valid pointer, to be freed.
  void* allocate(ByteCount bytes);
  void free(void* memory);
  ByteCount allocated() const { return allocated_; }  // sum of the sizes asked for

 private:
  struct Region {
    std::byte* memory = nullptr;
    std::size_t size = 0;  // mapped
    std::size_t used = 0;
    std::size_t blocks = 0;  // not yet freed
  };
  struct Block {
    ByteCount bytes;
    std::byte* region = nullptr;
  };
  Region& region_for(std::size_t size);

  std::map<void*, Block> blocks_;
  std::map<std::byte*, Region> regions_;
  std::byte* open_ = nullptr;  // region that small blocks are cut from
  ByteCount allocated_;
};

}  // namespace trainyard::executor
