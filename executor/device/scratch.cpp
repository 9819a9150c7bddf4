#include "executor/device/scratch.h"

namespace trainyard::executor {

Scratch::Buffer Scratch::take(std::int64_t floats) {
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

void Scratch::give_back(Buffer buffer) {
  const std::lock_guard lock(mutex_);
  free_.push_back(buffer);
}

}  // namespace trainyard::executor
