// ScratchPool: buffers for tiles in flight (attention scores), reused from call to call.
#pragma once

#include <cstdint>
#include <mutex>
#include <vector>

#include "executor/device/host_memory.h"

namespace trainyard::executor {

class ScratchPool {
 private:
  struct Buffer {
    float* data = nullptr;
    std::int64_t floats = 0;
  };

 public:
  // A buffer of at least `floats`, its holder's alone while the lease lives. Thread safe.
  class Lease {
   public:
    Lease(ScratchPool& owner, std::int64_t floats) : owner_(owner), buffer_(owner.take(floats)) {}
    ~Lease() { owner_.give_back(buffer_); }
    Lease(const Lease&) = delete;
    Lease& operator=(const Lease&) = delete;
    float* data() const { return buffer_.data; }

   private:
    ScratchPool& owner_;
    Buffer buffer_;
  };

 private:
  Buffer take(std::int64_t floats);
  void give_back(Buffer buffer);

  std::mutex mutex_;
  HostMemory memory_;
  std::vector<Buffer> free_;
};

}  // namespace trainyard::executor
