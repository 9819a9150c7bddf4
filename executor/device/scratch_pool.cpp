#include "executor/device/scratch_pool.h"

namespace trainyard::executor {

ScratchPool::Buffer ScratchPool::take(std::int64_t floats) {
  const std::lock_guard lock(mutex_);
  Buffer buffer;
  if (!free_.empty()) {
    buffer = free_.back();
    free_.pop_back();
  }
  if (buffer.floats < floats) {
    memory_.free(buffer.data);
    buffer = {static_cast<float*>(memory_.allocate(ByteCount(floats * 4))), floats};
  }
  return buffer;
}

void ScratchPool::give_back(Buffer buffer) {
  const std::lock_guard lock(mutex_);
  free_.push_back(buffer);
}

}  // namespace trainyard::executor
