// CudaStreams: a GPU as a Device but for its kernels, which LaunchedDevice adds: memory, order, copies, products.
//
// A stream of the program is a CUDA stream, made when it is first used. What fails on the host's side of an enqueued
// call (a launch that CUDA refuses, a host function's exception) and what a communicator reports stops the device:
// later calls enqueue nothing and synchronize() rethrows the first. Kernels that are already enqueued run on.
//
// Host functions go through cudaLaunchHostFunc: the driver may run those of all streams on one thread, so one must not
// wait for another stream's. Copies from or to pageable host memory block the caller until the stream has come to
// them (CUDA would read such memory at the call, not in the stream's order); pinned memory (allocate_host) is copied
// asynchronously.
//
// capture() makes a CUDA graph. All streams take part in it: each is forked from the compute stream at its begin and
// joined to it at its end, so that no kernel can run beside it instead of in it.
#pragma once

#include <cuda_runtime.h>

#include <array>
#include <atomic>
#include <memory>
#include <utility>
#include <vector>

#include "executor/device/cuda/cublas_products.h"
#include "executor/device/cuda/device_memory.h"
#include "executor/device/cuda/event_clock.h"
#include "executor/device/cuda/launch.h"
#include "executor/device/cuda_module.h"
#include "executor/device/device.h"
#include "executor/device/fp8_product.h"
#include "executor/device/gpu_streams.h"
#include "executor/device/stream_failure.h"

namespace trainyard::executor {

class CudaStreams : public Device, public GpuStreams {
 public:
  explicit CudaStreams(CudaDeviceOptions options);
  ~CudaStreams() override;
  CudaStreams(const CudaStreams&) = delete;
  CudaStreams& operator=(const CudaStreams&) = delete;

  std::string name() const override;
  void* allocate(ByteCount bytes) override;
  void free(void* memory) override;
  ByteCount allocated() const override { return memory_->allocated(); }
  void* allocate_host(ByteCount bytes) override;
  void free_host(void* memory) override;
  void copy_in(Stream stream, void* to, const void* from_host, ByteCount bytes) override;
  void copy_out(Stream stream, void* to_host, const void* from, ByteCount bytes) override;

  EventHandle record(Stream stream) override;
  void wait(Stream stream, const EventHandle& event) override;
  void synchronize() override;
  void begin_slice(Stream stream, SliceClock* clock) override;
  void end_slice(Stream stream, SliceClock* clock) override;
  void host_function(Stream stream, std::function<void()> function) override;
  std::unique_ptr<CapturedWork> capture(const std::function<void()>& calls) override;
  void enqueue(const CapturedWork& work) override;
  void begin_range(const char* name) override;
  void end_range() override;
  DeviceCounters counters() const override { return counters_; }

  void matmul(Stream stream, const Gemm& gemm, ConstValues a, ConstValues b, Values c, ConstValues bias) override;
  void matmul_gelu(Stream stream, const Gemm& gemm, ConstValues a, ConstValues b, ConstValues bias, Values before,
                   Values activated) override;
  void matmul_gelu_backward(Stream stream, const Gemm& gemm, ConstValues a, ConstValues b, ConstValues before,
                            Values c) override;
  void zero(Stream stream, void* memory, ByteCount bytes) override;

  void* native(Stream stream) override { return at(stream); }
  std::shared_ptr<GpuMark> mark(Stream stream) override;
  void copy(Stream stream, void* to, const void* from, ByteCount bytes) override;
  std::int64_t* word() override;
  void fail(std::exception_ptr error) override { failure_.set(std::move(error)); }

 protected:
  template <class Kernel>
  void launch(Stream stream, const Kernel& kernel) {
    enqueue([&] { executor::launch(at(stream), kernel); });
  }
  // work(void* native): calls that enqueue on the native stream.
  template <class Work>
  void enqueue_native(Stream stream, const Work& work) {
    enqueue([&] { work(at(stream)); });
  }
  // Grows by giving the old one back in the stream's order, so that kernels before may still use it; after the first
  // capture by keeping it.
  float* scratch(Stream stream, std::int64_t floats);
  void count(FlopCount flops, std::int64_t products);
  void multiply_fp8(Stream stream, const Fp8Product& product);

 private:
  struct Scratch {
    void* memory = nullptr;
    std::size_t bytes = 0;
  };
  cudaStream_t at(Stream stream);
  void* grown(Stream stream, Scratch& scratch, std::size_t bytes);
  void move(Stream stream, void* to, const void* from, ByteCount bytes, const void* host);

  // Runs `work` unless the device has failed; what it throws fails the device.
  template <class Work>
  void enqueue(const Work& work) {
    if (failure_.failed()) {
      return;
    }
    try {
      work();
    } catch (...) {
      if (capturing_) {
        refused_ = true;
      } else {
        failure_.set(std::current_exception());
      }
    }
  }
  // A call that no graph can hold.
  bool refuse_in_capture() {
    refused_ = refused_ || capturing_;
    return capturing_;
  }
  void join_streams(bool fork);
  void* workspace(Stream stream) {
    return grown(stream, workspaces_[static_cast<std::size_t>(stream)], kProductWorkspace);
  }

  int ordinal_;
  StreamFailure failure_;
  std::unique_ptr<DeviceMemory> memory_;
  std::unique_ptr<EventClock> clock_;
  std::unique_ptr<CublasProducts> products_;
  std::array<cudaStream_t, kStreams> streams_{};
  std::array<Scratch, kStreams> scratch_{};
  std::array<Scratch, kStreams> workspaces_{};           // of products
  std::vector<std::pair<cudaStream_t, void*>> retired_;  // outgrown scratch that a graph may name
  std::int64_t* word_ = nullptr;
  DeviceCounters counters_;
  bool capturing_ = false;
  bool refused_ = false;  // a call of the capture can't be kept
  bool captured_any_ = false;
};

}  // namespace trainyard::executor
