// GpuStreams: what a communicator over GPU memory needs of the device beside Device.
//
// NCCL enqueues its kernels on the device's own streams, so it must be given them; and its kernels fail silently (an
// aborted one just ends), so the communicator must be able to stop the device. No CUDA header is needed to include
// this: a stream is passed as the pointer that a cudaStream_t is.
#pragma once

#include <cstdint>
#include <exception>
#include <memory>

#include "core/program/instruction.h"
#include "core/units/count.h"

namespace trainyard::executor {

// A point in a stream's work. On CUDA: an event without timing.
class GpuMark {
 public:
  virtual ~GpuMark() = default;
  virtual bool reached() const = 0;  // from any thread, without blocking
};

class GpuStreams {
 public:
  virtual ~GpuStreams() = default;
  virtual void* native(Stream stream) = 0;  // the cudaStream_t
  virtual std::shared_ptr<GpuMark> mark(Stream stream) = 0;
  virtual void copy(Stream stream, void* to, const void* from, ByteCount bytes) = 0;  // within the device
  virtual std::int64_t* word() = 0;  // one of device memory, for the communicator alone; not in Device::allocated()
  // From any thread, also while synchronize() blocks: it rethrows the first of these once its streams are empty, as it
  // does an exception of enqueued work, and so does every later one.
  virtual void fail(std::exception_ptr error) = 0;
};

}  // namespace trainyard::executor
