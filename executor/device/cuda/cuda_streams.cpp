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

// The kernels of a capture, and what they count.
class CudaGraph final : public CapturedWork {
 public:
  CudaGraph(cudaGraph_t graph, DeviceCounters counted) : counted_(counted) {
    check_cuda(cudaGraphInstantiate(&graph_, graph, 0), "a CUDA graph");
  }
  ~CudaGraph() override { cudaGraphExecDestroy(graph_); }
  CudaGraph(const CudaGraph&) = delete;
  CudaGraph& operator=(const CudaGraph&) = delete;

  cudaGraphExec_t native() const { return graph_; }
  const DeviceCounters& counted() const { return counted_; }

 private:
  cudaGraphExec_t graph_ = nullptr;
  DeviceCounters counted_;
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
  for (const auto& [stream, memory] : retired_) {
    memory_->give_back(stream, memory);
  }
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
  if (refuse_in_capture()) {
    return;
  }
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
  if (refuse_in_capture()) {
    return;
  }
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
  if (!refuse_in_capture()) {
    enqueue([&] { clock_->mark(at(stream), &clock->begin); });
  }
}

void CudaStreams::end_slice(Stream stream, SliceClock* clock) {
  if (!refuse_in_capture()) {
    enqueue([&] { clock_->mark(at(stream), &clock->end); });
  }
}

void CudaStreams::host_function(Stream stream, std::function<void()> function) {
  if (refuse_in_capture()) {  // it runs once
    return;
  }
  enqueue([&] {
    auto call = std::make_unique<HostCall>(HostCall{std::move(function), &failure_});
    check_cuda(cudaLaunchHostFunc(at(stream), run_host_call, call.get()), "a host function");
    call.release();  // run_host_call's now
  });
}

// fork: all other streams wait for the compute stream; else it waits for them.
void CudaStreams::join_streams(bool fork) {
  const cudaStream_t origin = at(Stream::kCompute);
  for (int i = 0; i < kStreams; ++i) {
    const cudaStream_t other = at(static_cast<Stream>(i));
    if (other != origin) {
      const CudaEvent event(fork ? origin : other);
      check_cuda(cudaStreamWaitEvent(fork ? other : origin, event.native(), 0), "a capture's streams");
    }
  }
}

std::unique_ptr<CapturedWork> CudaStreams::capture(const std::function<void()>& calls) {
  check(!capturing_, "one capture at a time");
  if (failure_.failed()) {
    return nullptr;
  }
  for (int i = 0; i < kStreams; ++i) {
    at(static_cast<Stream>(i));  // none is made while another is captured
  }
  const cudaStream_t origin = at(Stream::kCompute);
  const DeviceCounters before = counters_;
  if (cudaStreamBeginCapture(origin, cudaStreamCaptureModeThreadLocal) != cudaSuccess) {
    cudaGetLastError();
    return nullptr;
  }
  capturing_ = true;
  refused_ = false;
  enqueue([&] {
    join_streams(true);
    calls();
    join_streams(false);
  });
  capturing_ = false;
  cudaGraph_t graph = nullptr;
  const bool ended = cudaStreamEndCapture(origin, &graph) == cudaSuccess && graph != nullptr;
  DeviceCounters counted = counters_;
  counted.flops = counted.flops - before.flops;
  counted.matmuls -= before.matmuls;
  counters_ = before;
  std::unique_ptr<CapturedWork> work;
  if (ended && !refused_) {
    try {
      work = std::make_unique<CudaGraph>(graph, counted);
      captured_any_ = true;
    } catch (const Error&) {
      work = nullptr;  // a driver without room for it: the calls are made one by one
    }
  }
  if (graph != nullptr) {
    cudaGraphDestroy(graph);
  }
  cudaGetLastError();
  return work;
}

void CudaStreams::enqueue(const CapturedWork& work) {
  const auto* graph = dynamic_cast<const CudaGraph*>(&work);
  check(graph != nullptr, "work is enqueued on the device that captured it");
  enqueue([&] {
    check_cuda(cudaGraphLaunch(graph->native(), at(Stream::kCompute)), "launch of a CUDA graph");
    count(graph->counted().flops, graph->counted().matmuls);
  });
}

void CudaStreams::begin_range(const char* name) { nvtxRangePushA(name); }
void CudaStreams::end_range() { nvtxRangePop(); }

void CudaStreams::matmul(Stream stream, const Gemm& gemm, ConstValues a, ConstValues b, Values c, ConstValues bias) {
  enqueue([&] {
    products_->multiply(at(stream), workspace(stream), gemm, a, b, c, bias);
    count(FlopCount(2 * gemm.m * gemm.n * gemm.k), 1);
  });
}

void CudaStreams::multiply_fp8(Stream stream, const Fp8Product& product) {
  enqueue([&] {
    products_->multiply_fp8(at(stream), workspace(stream), product);
    count(FlopCount(2 * product.m * product.n * product.k), 1);
  });
}

void CudaStreams::matmul_gelu(Stream stream, const Gemm& gemm, ConstValues a, ConstValues b, ConstValues bias,
                              Values before, Values activated) {
  bool done = false;
  enqueue([&] {
    done = products_->multiply_gelu(at(stream), workspace(stream), gemm, a, b, bias, before, activated);
    count(FlopCount(done ? 2 * gemm.m * gemm.n * gemm.k : 0), done ? 1 : 0);
  });
  if (!done) {
    Device::matmul_gelu(stream, gemm, a, b, bias, before, activated);
  }
}

void CudaStreams::matmul_gelu_backward(Stream stream, const Gemm& gemm, ConstValues a, ConstValues b,
                                       ConstValues before, Values c) {
  bool done = false;
  enqueue([&] {
    done = products_->multiply_gelu_backward(at(stream), workspace(stream), gemm, a, b, before, c);
    count(FlopCount(done ? 2 * gemm.m * gemm.n * gemm.k : 0), done ? 1 : 0);
  });
  if (!done) {
    Device::matmul_gelu_backward(stream, gemm, a, b, before, c);
  }
}

void CudaStreams::count(FlopCount flops, std::int64_t products) {
  counters_.flops += flops;
  counters_.matmuls += products;
}

void* CudaStreams::grown(Stream stream, Scratch& scratch, std::size_t bytes) {
  if (scratch.bytes < bytes) {
    check(!capturing_, "kernels have their scratch memory before they are captured");
    const cudaStream_t native = at(stream);
    // A graph has the addresses of the scratch that its kernels had when it was captured, and it may be launched again:
    // once there is one, what is outgrown is kept to the device's end, which graphs don't outlive.
    if (scratch.memory != nullptr && captured_any_) {
      retired_.emplace_back(native, scratch.memory);
    } else if (scratch.memory != nullptr) {
      memory_->give_back(native, scratch.memory);
    }
    scratch = {};
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
