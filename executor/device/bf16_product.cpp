#include "executor/device/bf16_product.h"

#include <algorithm>
#include <dnnl.hpp>
#include <map>
#include <mutex>
#include <stdexcept>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "core/error.h"
#include "executor/device/convert.h"

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

// Rows of bf16 as rows of fp32 without gaps; the room that they took.
std::int64_t widen_rows(ConstValues from, std::int64_t stride, std::int64_t rows, std::int64_t columns, float* to) {
  for (std::int64_t row = 0; row < rows; ++row) {
    widen(from.as<Bfloat16>() + row * stride, to + row * columns, columns);
  }
  return rows * columns;
}

// So much of a product is widened at once, so that the room doesn't grow with the product: rows of C, and of the sum.
constexpr std::int64_t kWideRows = 512;
constexpr std::int64_t kWideDepth = 512;

// Rows [row, row + rows) of C, columns [depth, depth + terms) of A's sum.
MatrixProduct part_of(const MatrixProduct& p, std::int64_t row, std::int64_t rows, std::int64_t depth,
                      std::int64_t terms) {
  MatrixProduct part = p;
  part.m = rows;
  part.k = terms;
  part.a = p.a + (p.transpose == Transpose::kTN ? depth * p.a_stride + row : row * p.a_stride + depth);
  part.b = p.b + (p.transpose == Transpose::kNT ? depth : depth * p.b_stride);
  part.c = p.c + row * p.c_stride;
  part.accumulate = p.accumulate || depth > 0;
  part.bias = depth > 0 ? ConstValues() : p.bias;
  return part;
}

// C is fp32; `room` holds the operands.
void multiply_widened(MatrixProduct p, float* room, MatrixProductCounter& counter) {
  const std::int64_t a_rows = p.transpose == Transpose::kTN ? p.k : p.m;
  const std::int64_t b_rows = p.transpose == Transpose::kNT ? p.n : p.k;
  const std::int64_t a_columns = p.m * p.k / a_rows, b_columns = p.k * p.n / b_rows;
  float* b = room + widen_rows(p.a, p.a_stride, a_rows, a_columns, room);
  widen_rows(p.b, p.b_stride, b_rows, b_columns, b);
  p.a = room;
  p.a_stride = a_columns;
  p.b = b;
  p.b_stride = b_columns;
  multiply(p, counter);
}

void widened(const MatrixProduct& p, ScratchPool& scratch, MatrixProductCounter& counter) {
  const bool in_place = p.c.type == DataType::kFp32;
  const std::int64_t most_rows = std::min(p.m, kWideRows), most_terms = std::min(p.k, kWideDepth);
  const std::int64_t operands = (most_rows + p.n) * most_terms;
  const ScratchPool::Lease lease(scratch, operands + (in_place ? 0 : most_rows * p.n));
  float* c = lease.data() + operands;
  for (std::int64_t row = 0; row < p.m; row += kWideRows) {
    const std::int64_t rows = std::min(kWideRows, p.m - row);
    const Values narrow_c = p.c + row * p.c_stride;
    if (!in_place && p.accumulate) {
      widen_rows(narrow_c, p.c_stride, rows, p.n, c);
    }
    for (std::int64_t depth = 0; depth < p.k; depth += kWideDepth) {
      MatrixProduct part = part_of(p, row, rows, depth, std::min(kWideDepth, p.k - depth));
      if (!in_place) {
        part.c = c;
        part.c_stride = p.n;
      }
      multiply_widened(part, lease.data(), counter);
    }
    for (std::int64_t i = 0; !in_place && i < rows; ++i) {
      narrow(c + i * p.n, (narrow_c + i * p.c_stride).as<Bfloat16>(), p.n);
    }
  }
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
    widened(product, scratch, counter);
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
