#include "executor/device/device.h"

#include "core/error.h"

namespace trainyard::executor {

std::unique_ptr<CapturedWork> Device::capture(const std::function<void()>&) { return nullptr; }

void Device::enqueue(const CapturedWork&) { check(false, "work is enqueued on the device that captured it"); }

void Device::matmul_gelu(Stream stream, const Gemm& gemm, ConstValues a, ConstValues b, ConstValues bias, Values before,
                         Values activated) {
  check(!gemm.accumulate, "an activation follows a whole product");
  matmul(stream, gemm, a, b, before, bias);
  gelu_forward(stream, before, activated, gemm.m * gemm.n);
}

void Device::matmul_gelu_backward(Stream stream, const Gemm& gemm, ConstValues a, ConstValues b, ConstValues before,
                                  Values c) {
  check(!gemm.accumulate, "an activation's gradient follows a whole product");
  matmul(stream, gemm, a, b, c, {});
  gelu_backward(stream, before, c, c, gemm.m * gemm.n);
}

}  // namespace trainyard::executor
