#include "executor/device/bf16_product.h"

#include <dnnl.hpp>
#include <map>
#include <mutex>
#include <stdexcept>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "core/error.h"
#include "executor/device/widened_product.h"

// Of OpenMP's API, declared here: its header comes with the compiler, and clang-tidy's isn't installed.
extern "C" void omp_set_num_threads(int threads);  // NOLINT(readability-identifier-naming)

namespace trainyard::executor {

namespace {

bool cpu_has(dnnl_cpu_isa_t wanted) {
  const int isa = static_cast<int>(dnnl_get_effective_cpu_isa());
  return (isa & static_cast<int>(wanted)) == static_cast<int>(wanted);
}

bool made_by_amd() {
#if defined(__x86_64__)
  return __builtin_cpu_is("amd") != 0;
#else
  return false;
#endif
}

bool takes_native(Bf16Path path) {
  if (path == Bf16Path::kWidened || !cpu_has(dnnl_cpu_isa_avx512_core_bf16)) {
    return false;
  }
  return path == Bf16Path::kNative || cpu_has(dnnl_cpu_isa_avx512_core_amx) || made_by_amd();
}

}  // namespace

// Kernels are made once per shape. Each run brings its own scratchpad: the library's default one belongs to the thread
// that made the kernel.
class Bf16Products::Native {
 public:
  void multiply(const MatrixProduct& p, ScratchPool& scratch) {
    omp_set_num_threads(1);  // of the calling thread: our own pool hands out the tiles
    const Kernel& kernel = kernel_for(p);
    const ScratchPool::Lease lease(scratch, kernel.scratch_bytes / 4 + 1);
    const auto memory = [&](const dnnl::memory::desc& desc, ConstValues values) {
      return dnnl::memory(desc, engine_, const_cast<void*>(values.data));
    };
    std::unordered_map<int, dnnl::memory> arguments{{DNNL_ARG_SRC, memory(kernel.a, p.a)},
                                                    {DNNL_ARG_WEIGHTS, memory(kernel.b, p.b)},
                                                    {DNNL_ARG_DST, memory(kernel.c, p.c)},
                                                    {DNNL_ARG_SCRATCHPAD, memory(kernel.scratchpad, lease.data())}};
    if (p.bias) {
      arguments.emplace(DNNL_ARG_BIAS, memory(kernel.bias, p.bias));
    }
    dnnl::stream stream(engine_);
    kernel.primitive.execute(stream, arguments);
    stream.wait();
  }

 private:
  struct Kernel {
    dnnl::memory::desc a, b, c, bias, scratchpad;
    std::int64_t scratch_bytes = 0;
    dnnl::matmul primitive;
  };
  using Key = std::tuple<Transpose, std::int64_t, std::int64_t, std::int64_t, std::int64_t, std::int64_t, std::int64_t,
                         DataType, bool, bool>;

  const Kernel& kernel_for(const MatrixProduct& p) {
    const Key key{p.transpose, p.m,        p.n,      p.k,          p.a_stride,
                  p.b_stride,  p.c_stride, p.c.type, p.accumulate, static_cast<bool>(p.bias)};
    const std::lock_guard lock(mutex_);
    const auto found = kernels_.find(key);
    return found != kernels_.end() ? found->second : kernels_.emplace(key, make(p)).first->second;
  }

  Kernel make(const MatrixProduct& p) const {
    using dnnl::memory;
    const auto type = [](DataType of) {
      return of == DataType::kBf16 ? memory::data_type::bf16 : memory::data_type::f32;
    };
    const auto stored = [](std::int64_t stride, bool transposed) {
      return transposed ? memory::dims{1, stride} : memory::dims{stride, 1};
    };
    Kernel kernel;
    kernel.a = memory::desc({p.m, p.k}, memory::data_type::bf16, stored(p.a_stride, p.transpose == Transpose::kTN));
    kernel.b = memory::desc({p.k, p.n}, memory::data_type::bf16, stored(p.b_stride, p.transpose == Transpose::kNT));
    kernel.c = memory::desc({p.m, p.n}, type(p.c.type), stored(p.c_stride, false));
    if (p.bias) {
      kernel.bias = memory::desc({1, p.n}, type(p.bias.type), memory::dims{p.n, 1});
    }
    dnnl::primitive_attr attributes;
    attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
    if (p.accumulate) {
      dnnl::post_ops sum;
      sum.append_sum(1.0F);
      attributes.set_post_ops(sum);
    }
    const dnnl::matmul::desc operation = p.bias ? dnnl::matmul::desc(kernel.a, kernel.b, kernel.bias, kernel.c)
                                                : dnnl::matmul::desc(kernel.a, kernel.b, kernel.c);
    const dnnl::matmul::primitive_desc description(operation, attributes, engine_);
    kernel.scratchpad = description.scratchpad_desc();
    kernel.scratch_bytes = static_cast<std::int64_t>(kernel.scratchpad.get_size());
    kernel.primitive = dnnl::matmul(description);
    return kernel;
  }

  dnnl::engine engine_{dnnl::engine::kind::cpu, 0};
  std::mutex mutex_;
  std::map<Key, Kernel> kernels_;  // entries stay where they are
};

Bf16Products::Bf16Products(Bf16Path path) : native_(takes_native(path) ? std::make_unique<Native>() : nullptr) {}

Bf16Products::~Bf16Products() = default;

void Bf16Products::multiply(const MatrixProduct& product, ScratchPool& scratch, MatrixProductCounter& counter) {
  check(product.a.type == DataType::kBf16 && product.b.type == DataType::kBf16, "both operands are bf16");
  check(!(product.bias && product.accumulate), "a product that accumulates has no bias");
  if (native_ == nullptr) {
    multiply_widened(product, scratch, counter);
    return;
  }
  try {
    native_->multiply(product, scratch);
  } catch (const dnnl::error& refused) {
    throw std::runtime_error("oneDNN refused a bf16 matrix product of " + std::to_string(product.m) + " x " +
                             std::to_string(product.n) + " x " + std::to_string(product.k) + ": " + refused.what());
  }
  counter.add(product);
}

}  // namespace trainyard::executor
