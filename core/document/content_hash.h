// Content hashes: "xxh128:" and 32 hexadecimal digits (XXH3, 128 bits) of bytes, at once or as they come. They tell
// damage and difference, not malice.
//
// Source: Collet, xxHash, https://github.com/Cyan4973/xxHash.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace trainyard {

std::string content_hash(std::string_view bytes);

// The same of all bytes added, in order.
class ContentHasher {
 public:
  ContentHasher();
  ~ContentHasher();
  ContentHasher(const ContentHasher&) = delete;
  ContentHasher& operator=(const ContentHasher&) = delete;

  void add(std::string_view bytes);
  void add(std::span<const std::byte> bytes);
  std::string hash() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace trainyard
