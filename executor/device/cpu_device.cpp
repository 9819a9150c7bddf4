#include "executor/device/cpu_device.h"

#include <algorithm>
#include <array>
#include <condition_variable>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "core/error.h"
#include "core/program/storage_type.h"
#include "executor/device/bf16_product.h"
#include "executor/device/cpu_kernels.h"
#include "executor/device/host_memory.h"
#include "executor/device/monotonic_clock.h"
#include "executor/device/stream_failure.h"
#include "executor/device/stream_queue.h"
#include "executor/device/widened_product.h"

namespace trainyard::executor {

namespace {

class CpuEvent : public Event {
 public:
  void set() {
    {
      const std::lock_guard lock(mutex_);
      reached_ = true;
    }
    changed_.notify_all();
  }
  void wait() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return reached_; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool reached_ = false;
};

// The calls themselves, to be posted again, with events made anew each time.
struct CapturedCalls : CapturedWork {
  struct Call {
    Stream stream = Stream::kCompute;
    std::function<void()> work = {};  // empty: an event
    bool records = false;             // or waits for it
    std::size_t event = 0;
  };
  struct Mark : Event {
    const CapturedCalls* of = nullptr;
    std::size_t event = 0;
  };
  std::vector<Call> calls;
  std::vector<Stream> streams;  // others than the compute stream
  std::size_t events = 0;
  bool refused = false;  // a call of the capture can't be kept

  void add(Stream stream, std::function<void()> work) {
    use(stream);
    calls.push_back({.stream = stream, .work = std::move(work)});
  }
  EventHandle record(Stream stream) {
    use(stream);
    auto mark = std::make_shared<Mark>();
    mark->of = this;
    mark->event = events++;
    calls.push_back({.stream = stream, .records = true, .event = mark->event});
    return mark;
  }
  void wait(Stream stream, const EventHandle& event) {
    const auto mark = std::dynamic_pointer_cast<Mark>(event);
    if (mark == nullptr || mark->of != this) {  // an event from outside has been reached once, not each time
      refused = true;
      return;
    }
    use(stream);
    calls.push_back({.stream = stream, .event = mark->event});
  }

 private:
  void use(Stream stream) {
    if (stream != Stream::kCompute && std::find(streams.begin(), streams.end(), stream) == streams.end()) {
      streams.push_back(stream);
    }
  }
};

class CpuDevice : public Device {
 public:
  explicit CpuDevice(CpuDeviceOptions options)
      : failure_(std::move(options.on_failure)), bf16_products_(options.bf16), pool_(std::max(1, options.threads)) {}

  std::string name() const override { return "cpu"; }

  void* allocate(ByteCount bytes) override { return memory_.allocate(bytes); }
  void free(void* memory) override { memory_.free(memory); }
  ByteCount allocated() const override { return memory_.allocated(); }
  void* allocate_host(ByteCount bytes) override { return host_memory_.allocate(bytes); }
  void free_host(void* memory) override { host_memory_.free(memory); }
  void copy_in(Stream stream, void* to, const void* from_host, ByteCount bytes) override {
    post(stream, [=, this] { cpu::copy(pool_, to, from_host, bytes); });
  }
  void copy_out(Stream stream, void* to_host, const void* from, ByteCount bytes) override {
    post(stream, [=, this] { cpu::copy(pool_, to_host, from, bytes); });
  }

  EventHandle record(Stream stream) override {
    if (captured_ != nullptr) {
      return captured_->record(stream);
    }
    auto event = std::make_shared<CpuEvent>();
    queue(stream).post([event] { event->set(); });  // also after a failure: others wait for it
    return event;
  }
  void wait(Stream stream, const EventHandle& event) override {
    if (captured_ != nullptr) {
      return captured_->wait(stream, event);
    }
    auto reached = std::dynamic_pointer_cast<CpuEvent>(event);
    check(reached != nullptr, "an event is waited for on the device that recorded it");
    queue(stream).post([reached] { reached->wait(); });
  }
  void synchronize() override {
    for (const auto& stream : queues_) {
      if (stream) {
        stream->wait_empty();
      }
    }
    failure_.rethrow();
  }
  void begin_slice(Stream stream, SliceClock* clock) override {
    post(stream, [clock] { clock->begin = monotonic_now(); });
  }
  void end_slice(Stream stream, SliceClock* clock) override {
    post(stream, [clock] { clock->end = monotonic_now(); });
  }
  void host_function(Stream stream, std::function<void()> function) override { post(stream, std::move(function)); }

  std::unique_ptr<CapturedWork> capture(const std::function<void()>& calls) override {
    check(captured_ == nullptr, "one capture at a time");
    auto captured = std::make_unique<CapturedCalls>();
    captured_ = captured.get();
    try {
      calls();
    } catch (...) {
      captured_ = nullptr;
      throw;
    }
    captured_ = nullptr;
    return captured->refused ? nullptr : std::move(captured);
  }
  void enqueue(const CapturedWork& work) override {
    const auto* captured = dynamic_cast<const CapturedCalls*>(&work);
    check(captured != nullptr, "work is enqueued on the device that captured it");
    const EventHandle begin = record(Stream::kCompute);
    for (const Stream stream : captured->streams) {
      wait(stream, begin);
    }
    std::vector<EventHandle> events(static_cast<std::size_t>(captured->events));
    for (const CapturedCalls::Call& call : captured->calls) {
      if (call.work) {
        post(call.stream, call.work);
      } else if (call.records) {
        events[call.event] = record(call.stream);
      } else {
        wait(call.stream, events[call.event]);
      }
    }
    for (const Stream stream : captured->streams) {
      wait(Stream::kCompute, record(stream));
    }
  }

  void begin_range(const char*) override {}
  void end_range() override {}

  DeviceCounters counters() const override { return counter_.read(); }

  void matmul(Stream stream, const Gemm& gemm, ConstValues a, ConstValues b, Values c, ConstValues bias) override {
    check(gemm.batch == 1, "a product of the device has batch 1");
    const DataType type = storage_type(gemm.type);  // tf32 is multiplied in fp32 here, fp8 in bf16
    check(a.type == type && b.type == type, "operands are of the product's type");
    check(c.type == type || c.type == DataType::kFp32, "a product is of its operands' type or fp32");
    check(!bias || (bias.type == type && !gemm.accumulate), "a bias is added to a product, not to a sum of them");
    const bool a_transposed = gemm.transpose == Transpose::kTN;
    const bool b_transposed = gemm.transpose == Transpose::kNT;
    const MatrixProduct whole{gemm.transpose,
                              gemm.m,
                              gemm.n,
                              gemm.k,
                              a,
                              a_transposed ? gemm.m : gemm.k,
                              b,
                              b_transposed ? gemm.k : gemm.n,
                              c,
                              gemm.n,
                              gemm.accumulate,
                              bias};
    post(stream, [=, this] {
      if (gemm.type == DataType::kFp8) {
        multiply_fp8(whole, gemm.gradient);
      } else {
        multiply_tiles(whole);
      }
    });
  }
  void attention_forward(Stream stream, const Attention& attention, ConstValues qkv, Values out,
                         float* log_sum_exp) override {
    post(stream, [=, this] { cpu::attention_forward(pool_, scratch_, counter_, attention, qkv, out, log_sum_exp); });
  }
  void attention_backward(Stream stream, const Attention& attention, ConstValues qkv, ConstValues out,
                          const float* log_sum_exp, ConstValues out_grad, Values qkv_grad) override {
    post(stream, [=, this] {
      cpu::attention_backward(pool_, scratch_, counter_, attention, qkv, out, log_sum_exp, out_grad, qkv_grad);
    });
  }
  void embed_forward(Stream stream, const std::int32_t* tokens, ConstValues table, Values out, std::int64_t t,
                     std::int64_t h, std::int64_t first_row, std::int64_t rows) override {
    post(stream, [=, this] { cpu::embed_forward(pool_, tokens, table, out, t, h, first_row, rows); });
  }
  void embed_backward(Stream stream, const std::int32_t* tokens, ConstValues out_grad, Values table_grad,
                      std::int64_t t, std::int64_t h, std::int64_t first_row, std::int64_t rows) override {
    post(stream, [=, this] { cpu::embed_backward(pool_, tokens, out_grad, table_grad, t, h, first_row, rows); });
  }
  void position_forward(Stream stream, ConstValues positions, Values out, std::int64_t t, std::int64_t h,
                        std::int64_t sequence) override {
    post(stream, [=, this] { cpu::position_forward(pool_, positions, out, t, h, sequence); });
  }
  void position_backward(Stream stream, ConstValues out_grad, Values positions_grad, std::int64_t t, std::int64_t h,
                         std::int64_t sequence, bool accumulate) override {
    post(stream, [=, this] { cpu::position_backward(pool_, out_grad, positions_grad, t, h, sequence, accumulate); });
  }
  void add(Stream stream, ConstValues a, ConstValues b, Values out, std::int64_t elements) override {
    post(stream, [=, this] { cpu::add(pool_, a, b, out, elements); });
  }
  void bias_backward(Stream stream, ConstValues grad, Values bias_grad, std::int64_t t, std::int64_t n,
                     bool accumulate) override {
    post(stream, [=, this] { cpu::bias_backward(pool_, grad, bias_grad, t, n, accumulate); });
  }
  void norm_forward(Stream stream, ConstValues residual, ConstValues branch, ConstValues weight, Values sum,
                    Values normed, float* rstd, std::int64_t t, std::int64_t h, float epsilon) override {
    post(stream, [=, this] { cpu::norm_forward(pool_, residual, branch, weight, sum, normed, rstd, t, h, epsilon); });
  }
  void norm_backward(Stream stream, ConstValues normed_grad, ConstValues residual, const float* rstd,
                     ConstValues weight, ConstValues incoming, Values residual_grad, std::int64_t t,
                     std::int64_t h) override {
    post(stream,
         [=, this] { cpu::norm_backward(pool_, normed_grad, residual, rstd, weight, incoming, residual_grad, t, h); });
  }
  void norm_weight_backward(Stream stream, ConstValues normed_grad, ConstValues residual, const float* rstd,
                            Values weight_grad, std::int64_t t, std::int64_t h, bool accumulate) override {
    post(stream,
         [=, this] { cpu::norm_weight_backward(pool_, normed_grad, residual, rstd, weight_grad, t, h, accumulate); });
  }
  void layer_norm_forward(Stream stream, ConstValues residual, ConstValues branch, ConstValues weight, ConstValues bias,
                          Values sum, Values normed, float* moments, std::int64_t t, std::int64_t h,
                          float epsilon) override {
    post(stream, [=, this] {
      cpu::layer_norm_forward(pool_, residual, branch, weight, bias, sum, normed, moments, t, h, epsilon);
    });
  }
  void layer_norm_backward(Stream stream, ConstValues normed_grad, ConstValues residual, const float* moments,
                           ConstValues weight, ConstValues incoming, Values residual_grad, std::int64_t t,
                           std::int64_t h) override {
    post(stream, [=, this] {
      cpu::layer_norm_backward(pool_, normed_grad, residual, moments, weight, incoming, residual_grad, t, h);
    });
  }
  void layer_norm_weight_backward(Stream stream, ConstValues normed_grad, ConstValues residual, const float* moments,
                                  Values weight_grad, Values bias_grad, std::int64_t t, std::int64_t h,
                                  bool accumulate) override {
    post(stream, [=, this] {
      cpu::layer_norm_weight_backward(pool_, normed_grad, residual, moments, weight_grad, bias_grad, t, h, accumulate);
    });
  }
  void rope_forward(Stream stream, const RopeShape& shape, Values qkv) override {
    post(stream, [=, this] { cpu::rope(pool_, shape, qkv, 1.0f); });
  }
  void rope_backward(Stream stream, const RopeShape& shape, Values qkv_grad) override {
    post(stream, [=, this] { cpu::rope(pool_, shape, qkv_grad, -1.0f); });
  }
  void swiglu_forward(Stream stream, ConstValues gate_up, Values activated, std::int64_t t, std::int64_t f) override {
    post(stream, [=, this] { cpu::swiglu_forward(pool_, gate_up, activated, t, f); });
  }
  void swiglu_backward(Stream stream, ConstValues gate_up, ConstValues activated_grad, Values gate_up_grad,
                       std::int64_t t, std::int64_t f) override {
    post(stream, [=, this] { cpu::swiglu_backward(pool_, gate_up, activated_grad, gate_up_grad, t, f); });
  }
  void gelu_forward(Stream stream, ConstValues in, Values activated, std::int64_t elements) override {
    post(stream, [=, this] { cpu::gelu_forward(pool_, in, activated, elements); });
  }
  void gelu_backward(Stream stream, ConstValues in, ConstValues activated_grad, Values in_grad,
                     std::int64_t elements) override {
    post(stream, [=, this] { cpu::gelu_backward(pool_, in, activated_grad, in_grad, elements); });
  }
  void loss_statistics(Stream stream, ConstValues logits, const std::int32_t* targets, float* statistics,
                       std::int64_t t, std::int64_t v, std::int64_t first_row) override {
    post(stream, [=, this] { cpu::loss_statistics(pool_, logits, targets, statistics, t, v, first_row); });
  }
  void loss_gradient(Stream stream, Values logits, const std::int32_t* targets, const float* statistics, int parts,
                     std::int64_t t, std::int64_t v, std::int64_t first_row, float scale,
                     std::int64_t* loss_sum) override {
    post(stream, [=, this] {
      cpu::loss_gradient(pool_, logits, targets, statistics, parts, t, v, first_row, scale, loss_sum);
    });
  }
  void sum_of_squares(Stream stream, ConstValues values, std::int64_t elements, std::int64_t* sum) override {
    post(stream, [=, this] { cpu::sum_of_squares(pool_, values, elements, sum); });
  }
  void adamw(Stream stream, const AdamW& options, float* master, Values working, ConstValues gradients, float* momentum,
             float* variance, const float* clip_scale, std::int64_t elements) override {
    post(stream, [=, this] {
      cpu::adamw(pool_, options, master, working, gradients, momentum, variance, clip_scale, elements);
    });
  }
  void sgd(Stream stream, float learning_rate, float momentum, float weight_decay, float* master, Values working,
           ConstValues gradients, float* velocity, const float* clip_scale, std::int64_t elements) override {
    post(stream, [=, this] {
      cpu::sgd(pool_, learning_rate, momentum, weight_decay, master, working, gradients, velocity, clip_scale,
               elements);
    });
  }
  void clip_scale(Stream stream, const std::int64_t* sum, float limit, const GradientScale& gradients,
                  float* scale) override {
    post(stream, [=] { cpu::clip_scale(sum, limit, gradients, scale); });
  }
  void zero(Stream stream, void* memory, ByteCount bytes) override {
    post(stream, [=, this] { cpu::zero(pool_, memory, bytes); });
  }

 private:
  void multiply_tiles(const MatrixProduct& whole) {
    const ProductTiling tiling = product_tiling(whole.m, whole.n);
    pool_.for_each_tile(tiling.tiles(), [&](std::int64_t index) {
      const MatrixProduct tile = product_tile(whole, tiling, index);
      if (whole.a.type == DataType::kBf16) {
        bf16_products_.multiply(tile, scratch_, counter_);
      } else if (whole.a.type == DataType::kFp16) {
        multiply_widened(tile, scratch_, counter_);
      } else {
        multiply(tile, counter_);
      }
    });
  }
  void multiply_fp8(MatrixProduct product, GradientOperand gradient) {
    const std::int64_t a_elements = product.m * product.k, b_elements = product.n * product.k;
    const ScratchPool::Lease lease(scratch_, (a_elements + b_elements + 1) / 2);
    auto* a = reinterpret_cast<Bfloat16*>(lease.data());
    Bfloat16* b = a + a_elements;
    cpu::round_to_fp8(pool_, product.a.as<Bfloat16>(), a, a_elements, gradient == GradientOperand::kA);
    cpu::round_to_fp8(pool_, product.b.as<Bfloat16>(), b, b_elements, gradient == GradientOperand::kB);
    product.a = a;
    product.b = b;
    multiply_tiles(product);
  }

  StreamQueue& queue(Stream stream) {
    auto& queue = queues_[static_cast<std::size_t>(stream)];
    if (!queue) {
      queue = std::make_unique<StreamQueue>();
    }
    return *queue;
  }

  // Runs `work` in its turn unless the device has failed by then; what it throws fails the device.
  template <class Work>
  void post(Stream stream, Work work) {
    if (captured_ != nullptr) {
      return captured_->add(stream, std::move(work));
    }
    queue(stream).post([this, work = std::move(work)] {
      if (failure_.failed()) {
        return;
      }
      try {
        work();
      } catch (...) {
        failure_.set(std::current_exception());
      }
    });
  }

  CapturedCalls* captured_ = nullptr;  // while capture() runs
  StreamFailure failure_;
  HostMemory memory_;
  HostMemory host_memory_;
  ScratchPool scratch_;
  MatrixProductCounter counter_;
  Bf16Products bf16_products_;
  ThreadPool pool_;
  // Last: their threads use all of the above, and end first.
  std::array<std::unique_ptr<StreamQueue>, kStreams> queues_;
};

}  // namespace

std::unique_ptr<Device> make_cpu_device(CpuDeviceOptions options) {
  return std::make_unique<CpuDevice>(std::move(options));
}

}  // namespace trainyard::executor
