#include "executor/worker/rank_memory.h"

#include <algorithm>

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
