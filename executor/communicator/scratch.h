// Scratch: memory that grows to the largest size asked for and is kept. 64-byte aligned, not initialised.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>

namespace trainyard::executor {

class Scratch {
 public:
  std::byte* reserve(std::int64_t bytes) {
    if (bytes > size_) {
      constexpr std::int64_t kAlignment = 64;
      const std::int64_t rounded = (bytes + kAlignment - 1) / kAlignment * kAlignment;
      memory_.reset();
      memory_.reset(static_cast<std::byte*>(std::aligned_alloc(kAlignment, static_cast<std::size_t>(rounded))));
      if (!memory_) {
        size_ = 0;
        throw std::bad_alloc();
      }
      size_ = rounded;
    }
    return memory_.get();
  }

 private:
  struct Free {
    void operator()(std::byte* memory) const { std::free(memory); }
  };
  std::unique_ptr<std::byte, Free> memory_;
  std::int64_t size_ = 0;
};

}  // namespace trainyard::executor
