#include "executor/worker/device_constants.h"

#include "executor/transformer/rope.h"

namespace trainyard::executor {

namespace {
float* allocate(Device& device, std::size_t elements) {
  return static_cast<float*>(device.allocate(ByteCount(static_cast<std::int64_t>(elements * sizeof(float)))));
}
}  // namespace

DeviceConstants::DeviceConstants(Device& device, const ModelSpec& model, std::int64_t sequence) : device_(device) {
  const RopeTables tables = rope_tables(model, sequence);
  const ByteCount bytes(static_cast<std::int64_t>(tables.cosines.size() * sizeof(float)));
  cosines_ = allocate(device, tables.cosines.size());
  sines_ = allocate(device, tables.sines.size());
  clip_scale_ = allocate(device, 1);
  device.copy_in(Stream::kCompute, cosines_, tables.cosines.data(), bytes);
  device.copy_in(Stream::kCompute, sines_, tables.sines.data(), bytes);
  device.synchronize();
}

DeviceConstants::~DeviceConstants() {
  device_.free(cosines_);
  device_.free(sines_);
  device_.free(clip_scale_);
}

}  // namespace trainyard::executor
