// What store clients and the server say to each other over TCP.
//
//   frame    = u32 length of body, body                     little-endian, as all numbers
//   request  = u8 operation, operands                       a connection's first is kHello with the token
//   response = u8 status, one string
//   string   = u32 length, bytes
//
// A frame over kMaxStoreFrameBytes, or one that does not parse to its end, closes the connection.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace trainyard::executor {

constexpr std::size_t kMaxStoreFrameBytes = std::size_t{4} << 20;
constexpr std::size_t kMaxStoreTokenBytes = 256;
constexpr std::size_t kStoreFrameHeaderBytes = 4;

enum class StoreOperation : std::uint8_t {
  kHello = 1,  // token
  kSet,        // key, value
  kGet,        // key
  kWait,       // u32 milliseconds, u32 count, keys
  kAdd,        // key, i64
};

enum class StoreStatus : std::uint8_t {
  kOk,       // with the value asked for, if any
  kMissing,  // no such key; or the wait's time is up
  kRefused,  // with the reason
};

class FrameWriter {
 public:
  explicit FrameWriter(std::uint8_t first) { number(first); }
  FrameWriter& number(std::uint8_t value) { return put(value, 1); }
  FrameWriter& number(std::uint32_t value) { return put(value, 4); }
  FrameWriter& number(std::int64_t value) { return put(static_cast<std::uint64_t>(value), 8); }
  FrameWriter& text(std::string_view value);
  std::string frame() const;  // with its header

 private:
  FrameWriter& put(std::uint64_t value, int bytes);
  std::string body_;
};

// Reads a body. Once something is missing, everything read is empty and good() is false.
class FrameReader {
 public:
  explicit FrameReader(std::string_view body) : rest_(body) {}
  std::uint8_t byte() { return static_cast<std::uint8_t>(take(1)); }
  std::uint32_t count() { return static_cast<std::uint32_t>(take(4)); }
  std::int64_t integer() { return static_cast<std::int64_t>(take(8)); }
  std::string text();
  bool good() const { return good_; }
  bool finished() const { return good_ && rest_.empty(); }

 private:
  std::uint64_t take(std::size_t bytes);
  std::string_view rest_;
  bool good_ = true;
};

// The length in a frame's header.
std::uint32_t frame_length(std::string_view header);

}  // namespace trainyard::executor
