#include "executor/device/cuda/cuda_streams.h"

#include <nvtx3/nvToolsExt.h>

#include <utility>

#include "core/error.h"
#include "executor/device/cuda/cuda_check.h"

namespace trainyard::executor {

namespace {

class CudaEvent : public Event, public GpuMark {
 public:
  explicit CudaEvent(cudaStream_t stream) {
    check_cuda(cudaEventCreateWithFlags(&event_, cudaEventDisableTiming), "an event");
    check_cuda(cudaEventRecord(event_, stream), "an event");
  }
  ~CudaEvent() override { cudaEventDestroy(event_); }
  CudaEvent(const CudaEvent&) = delete;
  CudaEvent& operator=(const CudaEvent&) = delete;

  cudaEvent_t native() const { return event_; }
  bool reached() const override { return cudaEventQuery(event_) == cudaSuccess; }

 private:
  cudaEvent_t event_ = nullptr;
};

struct HostCall {
  std::function<void()> function;
  StreamFailure* failure;
};

// On a thread of the driver, which must see no exception.
void CUDART_CB run_host_call(void* data) {
  const std::unique_ptr<HostCall> call(static_cast<HostCall*>(data));
  if (call->failure->failed()) {
    return;
  }
  try {
    call->function();
  } catch (...) {
    call->failure->set(std::current_exception());
  }
}

bool pinned(const void* host) {
  cudaPointerAttributes attributes{};
  if (cudaPointerGetAttributes(&attributes, host) != cudaSuccess) {
    cudaGetLastError();
    return false;
  }
  return attributes.type == cudaMemoryTypeHost || attributes.type == cudaMemoryTypeManaged;
}

}  // namespace

CudaStreams::CudaStreams(CudaDeviceOptions options)
    : ordinal_(options.ordinal), failure_(std::move(options.on_failure)) {
  int devices = 0;
  check_cuda(cudaGetDeviceCount(&devices), "the GPUs of this machine");
  if (ordinal_ < 0 || ordinal_ >= devices) {
    throw Error("there is no GPU " + std::to_string(ordinal_) + ": this process sees " + std::to_string(devices),
                "the CUDA device", "start at most a rank per GPU, or set CUDA_VISIBLE_DEVICES");
  }
  check_cuda(cudaSetDevice(ordinal_), "start of the GPU");
  memory_ = std::make_unique<DeviceMemory>(ordinal_);
  clock_ = std::make_unique<EventClock>(at(Stream::kCompute));
  products_ = std::make_unique<CublasProducts>();
}

CudaStreams::~CudaStreams() {
  cudaSetDevice(ordinal_);
  for (std::size_t i = 0; i < streams_.size(); ++i) {
    if (streams_[i] == nullptr) {
      continue;
    }
    cudaStreamSynchronize(streams_[i]);
    for (const Scratch& scratch : {scratch_[i], workspaces_[i]}) {
      if (scratch.memory != nullptr) {
        memory_->give_back(streams_[i], scratch.memory);
      }
    }
    if (word_ != nullptr && i == static_cast<std::size_t>(Stream::kCompute)) {
      memory_->give_back(streams_[i], word_);
    }
    cudaStreamSynchronize(streams_[i]);
  }
  clock_.reset();
  products_.reset();
  for (cudaStream_t stream : streams_) {
    if (stream != nullptr) {
      cudaStreamDestroy(stream);
    }
  }
  memory_.reset();
}

std::string CudaStreams::name() const {
  cudaDeviceProp properties{};
  check_cuda(cudaGetDeviceProperties(&properties, ordinal_), "the GPU's name");
  return "cuda " + std::to_string(ordinal_) + " (" + properties.name + ")";
}

cudaStream_t CudaStreams::at(Stream stream) {
  check_cuda(cudaSetDevice(ordinal_), "use of the GPU");  // of the calling thread
  cudaStream_t& native = streams_[static_cast<std::size_t>(stream)];
  if (native == nullptr) {
    check_cuda(cudaStreamCreateWithFlags(&native, cudaStreamNonBlocking), "a stream");
  }
  return native;
}

void* CudaStreams::allocate(ByteCount bytes) {
  check_cuda(cudaSetDevice(ordinal_), "use of the GPU");
  return memory_->allocate(bytes);
}

// Called by destructors, also after a failure: neither throws.
void CudaStreams::free(void* memory) {
  cudaSetDevice(ordinal_);
  memory_->free(memory);
}

void* CudaStreams::allocate_host(ByteCount bytes) {
  check_cuda(cudaSetDevice(ordinal_), "use of the GPU");
  void* memory = nullptr;
  check_cuda(cudaHostAlloc(&memory, static_cast<std::size_t>(bytes.value()) + (bytes.value() == 0), 0),
             "allocation of pinned host memory");
  return memory;
}

void CudaStreams::free_host(void* memory) {
  if (memory != nullptr) {
    cudaFreeHost(memory);
  }
}

void CudaStreams::move(Stream stream, void* to, const void* from, ByteCount bytes, const void* host) {
  enqueue([&] {
    const cudaStream_t native = at(stream);
    if (!pinned(host)) {
      check_cuda(cudaStreamSynchronize(native), "a copy");
    }
    check_cuda(cudaMemcpyAsync(to, from, static_cast<std::size_t>(bytes.value()), cudaMemcpyDefault, native), "a copy");
    if (!pinned(host)) {
      check_cuda(cudaStreamSynchronize(native), "a copy");
    }
  });
}

void CudaStreams::copy_in(Stream stream, void* to, const void* from_host, ByteCount bytes) {
  move(stream, to, from_host, bytes, from_host);
}

void CudaStreams::copy_out(Stream stream, void* to_host, const void* from, ByteCount bytes) {
  move(stream, to_host, from, bytes, to_host);
}

void CudaStreams::copy(Stream stream, void* to, const void* from, ByteCount bytes) {
  enqueue([&] {
    check_cuda(cudaMemcpyAsync(to, from, static_cast<std::size_t>(bytes.value()), cudaMemcpyDeviceToDevice, at(stream)),
               "a copy");
  });
}

void CudaStreams::zero(Stream stream, void* memory, ByteCount bytes) {
  enqueue(
      [&] { check_cuda(cudaMemsetAsync(memory, 0, static_cast<std::size_t>(bytes.value()), at(stream)), "zeroing"); });
}

EventHandle CudaStreams::record(Stream stream) { return std::make_shared<CudaEvent>(at(stream)); }

std::shared_ptr<GpuMark> CudaStreams::mark(Stream stream) { return std::make_shared<CudaEvent>(at(stream)); }

void CudaStreams::wait(Stream stream, const EventHandle& event) {
  const auto recorded = std::dynamic_pointer_cast<CudaEvent>(event);
  check(recorded != nullptr, "an event is waited for on the device that recorded it");
  enqueue([&] { check_cuda(cudaStreamWaitEvent(at(stream), recorded->native(), 0), "a wait for an event"); });
}

void CudaStreams::synchronize() {
  check_cuda(cudaSetDevice(ordinal_), "use of the GPU");
  for (cudaStream_t stream : streams_) {
    if (stream == nullptr) {
      continue;
    }
    try {
      check_cuda(cudaStreamSynchronize(stream), "work on the GPU");
    } catch (...) {
      failure_.set(std::current_exception());
    }
  }
  if (failure_.failed()) {
    clock_->forget();
    failure_.rethrow();
  }
  clock_->read();
}

void CudaStreams::begin_slice(Stream stream, SliceClock* clock) {
  enqueue([&] { clock_->mark(at(stream), &clock->begin); });
}

void CudaStreams::end_slice(Stream stream, SliceClock* clock) {
  enqueue([&] { clock_->mark(at(stream), &clock->end); });
}

void CudaStreams::host_function(Stream stream, std::function<void()> function) {
  enqueue([&] {
    auto call = std::make_unique<HostCall>(HostCall{std::move(function), &failure_});
    check_cuda(cudaLaunchHostFunc(at(stream), run_host_call, call.get()), "a host function");
    call.release();  // run_host_call's now
  });
}

void CudaStreams::begin_range(const char* name) { nvtxRangePushA(name); }
void CudaStreams::end_range() { nvtxRangePop(); }

void CudaStreams::matmul(Stream stream, const Gemm& gemm, ConstValues a, ConstValues b, Values c, ConstValues bias) {
  enqueue([&] {
    void* workspace = grown(stream, workspaces_[static_cast<std::size_t>(stream)], kProductWorkspace);
    products_->multiply(at(stream), workspace, gemm, a, b, c, bias);
    count(FlopCount(2 * gemm.m * gemm.n * gemm.k), 1);
  });
}

void CudaStreams::count(FlopCount flops, std::int64_t products) {
  counters_.flops += flops;
  counters_.matmuls += products;
}

void* CudaStreams::grown(Stream stream, Scratch& scratch, std::size_t bytes) {
  if (scratch.bytes < bytes) {
    const cudaStream_t native = at(stream);
    if (scratch.memory != nullptr) {
      memory_->give_back(native, scratch.memory);
      scratch = {};
    }
    scratch.memory = memory_->take(native, bytes);
    scratch.bytes = bytes;
  }
  return scratch.memory;
}

float* CudaStreams::scratch(Stream stream, std::int64_t floats) {
  void* memory = nullptr;
  enqueue([&] {
    memory =
        grown(stream, scratch_[static_cast<std::size_t>(stream)], static_cast<std::size_t>(floats) * sizeof(float));
  });
  return static_cast<float*>(memory);
}

std::int64_t* CudaStreams::word() {
  if (word_ == nullptr) {
    const cudaStream_t stream = at(Stream::kCompute);
    word_ = static_cast<std::int64_t*>(memory_->take(stream, sizeof(std::int64_t)));
    check_cuda(cudaMemsetAsync(word_, 0, sizeof(std::int64_t), stream), "zeroing");
    check_cuda(cudaStreamSynchronize(stream), "zeroing");
  }
  return word_;
}

}  // namespace trainyard::executor
