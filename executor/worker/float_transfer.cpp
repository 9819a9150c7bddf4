#include "executor/worker/float_transfer.h"

#include <cstddef>
#include <vector>

#include "executor/device/convert.h"

namespace trainyard::executor {

namespace {
ByteCount bytes_of(DataType type, std::int64_t elements) { return ByteCount(elements * size_of(type)); }

std::vector<std::byte> staging(DataType type, std::int64_t elements) {
  return std::vector<std::byte>(static_cast<std::size_t>(elements * size_of(type)));
}
}  // namespace

void write_floats(Device& device, Values to, const float* from, std::int64_t elements) {
  if (to.type == DataType::kFp32) {
    device.copy_in(Stream::kCompute, to.data, from, bytes_of(to.type, elements));
    device.synchronize();
    return;
  }
  std::vector<std::byte> narrow = staging(to.type, elements);
  from_floats(from, Values(narrow.data(), to.type), elements);
  device.copy_in(Stream::kCompute, to.data, narrow.data(), bytes_of(to.type, elements));
  device.synchronize();
}

void read_floats(Device& device, ConstValues from, float* to, std::int64_t elements) {
  if (from.type == DataType::kFp32) {
    device.copy_out(Stream::kCompute, to, from.data, bytes_of(from.type, elements));
    device.synchronize();
    return;
  }
  std::vector<std::byte> narrow = staging(from.type, elements);
  device.copy_out(Stream::kCompute, narrow.data(), from.data, bytes_of(from.type, elements));
  device.synchronize();
  to_floats(ConstValues(narrow.data(), from.type), to, elements);
}

}  // namespace trainyard::executor
