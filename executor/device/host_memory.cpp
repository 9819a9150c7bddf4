#include "executor/device/host_memory.h"

#include <sys/mman.h>

#include <cstdint>
#include <cstring>
#include <string>

#include "core/error.h"

namespace trainyard::executor {

namespace {

std::size_t round_up(std::size_t size, std::size_t unit) { return (size + unit - 1) / unit * unit; }

// Maps `size` bytes starting at a huge page, and touches them.
std::byte* map_huge(std::size_t size) {
  const std::size_t padded = size + kHugePage;
  void* mapped = ::mmap(nullptr, padded, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED) {
    throw Error("cannot allocate " + std::to_string(size) + " bytes", "device memory",
                "use more ranks, a smaller micro-batch or ZeRO");
  }
  auto* begin = static_cast<std::byte*>(mapped);
  auto* aligned =
      begin + (round_up(reinterpret_cast<std::uintptr_t>(begin), kHugePage) - reinterpret_cast<std::uintptr_t>(begin));
  if (aligned != begin) {
    ::munmap(begin, static_cast<std::size_t>(aligned - begin));
  }
  ::munmap(aligned + size, static_cast<std::size_t>(begin + padded - (aligned + size)));
  ::madvise(aligned, size, MADV_HUGEPAGE);  // refused: works on small pages
  std::memset(aligned, 0, size);
  return aligned;
}

}  // namespace

HostMemory::~HostMemory() {
  for (const auto& [memory, region] : regions_) {
    ::munmap(memory, region.size);
  }
}

HostMemory::Region& HostMemory::region_for(std::size_t size) {
  const bool alone = size >= kHugePage;
  if (!alone && open_ != nullptr) {
    Region& region = regions_.at(open_);
    if (region.used + size <= region.size) {
      return region;
    }
  }
  const std::size_t mapped = alone ? round_up(size, 4096) : kHugePage;
  std::byte* memory = map_huge(mapped);
  if (!alone) {
    open_ = memory;
  }
  return regions_.emplace(memory, Region{memory, mapped, 0, 0}).first->second;
}

void* HostMemory::allocate(ByteCount bytes) {
  check(bytes.value() >= 0, "a size is not negative");
  const std::size_t size = round_up(static_cast<std::size_t>(bytes.value()) + (bytes.value() == 0), kAlignment);
  Region& region = region_for(size);
  std::byte* memory = region.memory + region.used;
  region.used += size;
  ++region.blocks;
  blocks_.emplace(memory, Block{bytes, region.memory});
  allocated_ += bytes;
  return memory;
}

void HostMemory::free(void* memory) {
  if (memory == nullptr) {
    return;
  }
  const auto block = blocks_.find(memory);
  check(block != blocks_.end(), "freed memory was allocated by this device");
  const auto region = regions_.find(block->second.region);
  allocated_ -= block->second.bytes;
  blocks_.erase(block);
  if (--region->second.blocks == 0) {
    if (open_ == region->first) {
      open_ = nullptr;
    }
    ::munmap(region->first, region->second.size);
    regions_.erase(region);
  }
}

}  // namespace trainyard::executor
