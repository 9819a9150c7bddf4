#include "executor/worker/rank_memory.h"

#include <algorithm>
#include <map>

#include "core/error.h"

namespace trainyard::executor {

namespace {
bool same_place(const Buffer& a, const Buffer& b) {
  return b.persistent && a.content == b.content && a.bucket == b.bucket && a.bytes <= b.bytes;
}
}  // namespace

RankMemory::RankMemory(Device& device, const Role& role) : device_(device), role_(role) {
  const ByteCount before = device.allocated();
  if (role.arena_bytes.value() > 0) {
    arena_ = allocate(role.arena_bytes);
  }
  for (const Buffer& buffer : role.buffers) {
    addresses_.push_back(buffer.persistent ? allocate(buffer.bytes) : arena_ + buffer.arena_offset);
  }
  allocated_ = device.allocated() - before;
}

RankMemory::~RankMemory() {
  for (std::byte* memory : owned_) {
    device_.free(memory);
  }
}

std::vector<RankMemory::Block> RankMemory::communicated() const {
  std::map<std::byte*, ByteCount> found;
  for (const Instruction& instruction : role_.instructions) {
    if (!instruction.communication) {
      continue;
    }
    for (const std::vector<BufferId>* touched : {&instruction.reads, &instruction.writes}) {
      for (const BufferId id : *touched) {
        const Buffer& buffer = role_.buffers[id.at()];
        if (buffer.bytes.value() > 0) {
          found[buffer.persistent ? addresses_[id.at()] : arena_] =
              buffer.persistent ? buffer.bytes : role_.arena_bytes;
        }
      }
    }
  }
  std::vector<Block> blocks;
  for (const auto& [data, bytes] : found) {
    blocks.push_back({data, bytes});
  }
  return blocks;
}

std::byte* RankMemory::allocate(ByteCount bytes) {
  if (bytes.value() == 0) {
    return nullptr;
  }
  owned_.push_back(static_cast<std::byte*>(device_.allocate(bytes)));
  return owned_.back();
}

std::vector<std::byte*> RankMemory::addresses_for(const Role& role) const {
  check(role.arena_bytes <= role_.arena_bytes, "a shared arena is large enough for both roles");
  std::vector<std::byte*> addresses;
  for (const Buffer& buffer : role.buffers) {
    if (!buffer.persistent) {
      addresses.push_back(arena_ + buffer.arena_offset);
      continue;
    }
    const auto found = std::find_if(role_.buffers.begin(), role_.buffers.end(),
                                    [&](const Buffer& own) { return same_place(buffer, own); });
    check(found != role_.buffers.end(), "a shared buffer exists in the role that owns the memory");
    addresses.push_back(addresses_[found->id.at()]);
  }
  return addresses;
}

}  // namespace trainyard::executor
