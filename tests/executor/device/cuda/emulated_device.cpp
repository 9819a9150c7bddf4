#include "tests/executor/device/cuda/emulated_device.h"

#include <array>
#include <atomic>
#include <utility>
#include <vector>

#include "executor/device/cuda/fused_device.h"
#include "executor/device/host_memory.h"

namespace trainyard::executor {

namespace {

// Hands all but kernels to a CPU device.
class EmulatedStreams : public Device {
 public:
  EmulatedStreams(CpuDeviceOptions options, ThreadOrder order) : cpu_(make_cpu_device(std::move(options))) {
    for (auto& emulator : emulators_) {
      emulator = std::make_unique<Emulator>(order);
    }
  }

  std::string name() const override { return "emulated cuda"; }
  void* allocate(ByteCount bytes) override { return cpu_->allocate(bytes); }
  void free(void* memory) override { cpu_->free(memory); }
  ByteCount allocated() const override { return cpu_->allocated(); }
  void* allocate_host(ByteCount bytes) override { return cpu_->allocate_host(bytes); }
  void free_host(void* memory) override { cpu_->free_host(memory); }
  void copy_in(Stream stream, void* to, const void* from_host, ByteCount bytes) override {
    cpu_->copy_in(stream, to, from_host, bytes);
  }
  void copy_out(Stream stream, void* to_host, const void* from, ByteCount bytes) override {
    cpu_->copy_out(stream, to_host, from, bytes);
  }
  EventHandle record(Stream stream) override { return cpu_->record(stream); }
  void wait(Stream stream, const EventHandle& event) override { cpu_->wait(stream, event); }
  void synchronize() override { cpu_->synchronize(); }
  void begin_slice(Stream stream, SliceClock* clock) override { cpu_->begin_slice(stream, clock); }
  void end_slice(Stream stream, SliceClock* clock) override { cpu_->end_slice(stream, clock); }
  void host_function(Stream stream, std::function<void()> function) override {
    cpu_->host_function(stream, std::move(function));
  }
  std::unique_ptr<CapturedWork> capture(const std::function<void()>& calls) override {
    const std::int64_t before = flops_;
    auto work = std::make_unique<Captured>();
    work->calls = cpu_->capture(calls);
    work->flops = flops_ - before;
    flops_ = before;  // nothing has run yet
    return work->calls == nullptr ? nullptr : std::move(work);
  }
  void enqueue(const CapturedWork& work) override {
    const auto& captured = dynamic_cast<const Captured&>(work);
    cpu_->enqueue(*captured.calls);
    flops_ += captured.flops;
  }
  void begin_range(const char* name) override { cpu_->begin_range(name); }
  void end_range() override { cpu_->end_range(); }
  DeviceCounters counters() const override {
    DeviceCounters counters = cpu_->counters();
    counters.flops += FlopCount(flops_.load());
    return counters;
  }
  void matmul(Stream stream, const Gemm& gemm, ConstValues a, ConstValues b, Values c, ConstValues bias) override {
    cpu_->matmul(stream, gemm, a, b, c, bias);
  }
  void zero(Stream stream, void* memory, ByteCount bytes) override { cpu_->zero(stream, memory, bytes); }

 protected:
  template <class Kernel>
  void launch(Stream stream, const Kernel& kernel) {
    Emulator* emulator = emulators_[static_cast<std::size_t>(stream)].get();
    cpu_->host_function(stream, [emulator, kernel] { emulator->run(kernel); });
  }
  template <class Work>
  void enqueue_native(Stream stream, const Work& work) {
    cpu_->host_function(stream, [work] { work(nullptr); });
  }
  float* scratch(Stream, std::int64_t floats) {  // a new one each time: what is enqueued keeps its own
    return static_cast<float*>(scratch_.allocate(ByteCount(floats * static_cast<std::int64_t>(sizeof(float)))));
  }
  // As cuBLASLt does, but for what it rounds: fp8 times the inverse of its scale is exact in bf16.
  void multiply_fp8(Stream stream, const Fp8Product& product) {
    const Gemm gemm{.m = product.m,
                    .n = product.n,
                    .k = product.k,
                    .type = DataType::kBf16,
                    .transpose = Transpose::kNT,
                    .accumulate = product.accumulate};
    const Bfloat16* a = widened(stream, product.a, product.m * product.k);
    const Bfloat16* b = widened(stream, product.b, product.n * product.k);
    cpu_->matmul(stream, gemm, a, b, product.c, product.bias);
  }
  void count(FlopCount flops, std::int64_t) { flops_ += flops.value(); }

 private:
  struct Captured : CapturedWork {
    std::unique_ptr<CapturedWork> calls;
    std::int64_t flops = 0;  // that kernels count when they are launched
  };
  const Bfloat16* widened(Stream stream, const Fp8Operand& operand, std::int64_t elements) {
    auto* to = static_cast<Bfloat16*>(scratch_.allocate(ByteCount(2 * elements)));
    cpu_->host_function(stream, [=] {
      for (std::int64_t i = 0; i < elements; ++i) {
        const float value = operand.gradient ? load(static_cast<const Float8E5M2*>(operand.data) + i)
                                             : load(static_cast<const Float8E4M3*>(operand.data) + i);
        store(to + i, value * *operand.inverse);
      }
    });
    return to;
  }
  HostMemory scratch_;
  std::array<std::unique_ptr<Emulator>, kStreams> emulators_;
  std::atomic<std::int64_t> flops_{0};
  std::unique_ptr<Device> cpu_;  // last: its threads use the above
};

}  // namespace

std::unique_ptr<Device> make_emulated_device(CpuDeviceOptions options, ThreadOrder order,
                                             std::unique_ptr<FusedAttention> fused) {
  auto device = std::make_unique<FusedDevice<EmulatedStreams>>(std::move(options), order);
  device->use(std::move(fused));
  return device;
}

}  // namespace trainyard::executor
