#include "executor/supervisor/store_protocol.h"

namespace trainyard::executor {

FrameWriter& FrameWriter::put(std::uint64_t value, int bytes) {
  for (int i = 0; i < bytes; ++i) {
    body_.push_back(static_cast<char>(value >> (8 * i) & 0xff));
  }
  return *this;
}

FrameWriter& FrameWriter::text(std::string_view value) {
  number(static_cast<std::uint32_t>(value.size()));
  body_.append(value);
  return *this;
}

std::string FrameWriter::frame() const {
  FrameWriter header(std::uint8_t{0});
  header.body_.clear();
  header.number(static_cast<std::uint32_t>(body_.size()));
  return header.body_ + body_;
}

std::uint64_t FrameReader::take(std::size_t bytes) {
  if (!good_ || rest_.size() < bytes) {
    good_ = false;
    return 0;
  }
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < bytes; ++i) {
    value |= std::uint64_t{static_cast<unsigned char>(rest_[i])} << (8 * i);
  }
  rest_.remove_prefix(bytes);
  return value;
}

std::string FrameReader::text() {
  const std::uint32_t length = count();
  if (!good_ || rest_.size() < length) {
    good_ = false;
    return {};
  }
  std::string value(rest_.substr(0, length));
  rest_.remove_prefix(length);
  return value;
}

std::uint32_t frame_length(std::string_view header) { return FrameReader(header).count(); }

}  // namespace trainyard::executor
