// kernel_bench [THREADS] [ROUNDS]: rates of every kernel at shapes of a model of hidden size 256 to 768, and
// what share of this machine's best they reach. The bests are measured too: the largest product's FLOP/s, and
// the copy's bytes per second at the same size (so at the same level of the memory hierarchy). Rates are of the
// median call; where the least time is far below it, something else was using the cores.
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <string>
#include <vector>

#include "executor/calibration/measure_kernels.h"
#include "executor/device/cpu_device.h"

namespace {

using namespace trainyard;
using namespace trainyard::executor;

std::vector<Operation> products() {
  std::vector<Operation> operations;
  for (const std::int64_t hidden : {256, 512, 768}) {
    const std::int64_t tokens = 1024, feed_forward = hidden * 11 / 4;
    for (const std::int64_t width : {hidden, 2 * hidden, 2 * feed_forward}) {
      operations.emplace_back(Gemm{.m = tokens, .n = width, .k = hidden, .transpose = Transpose::kNT});
      operations.emplace_back(Gemm{.m = tokens, .n = hidden, .k = width, .transpose = Transpose::kNN});
      operations.emplace_back(
          Gemm{.m = width, .n = hidden, .k = tokens, .transpose = Transpose::kTN, .accumulate = true});
    }
  }
  operations.emplace_back(Gemm{.m = 2048, .n = 2048, .k = 2048, .transpose = Transpose::kNN});
  return operations;
}

std::vector<Operation> attentions() {
  std::vector<Operation> operations;
  for (const AttentionPass pass : {AttentionPass::kForward, AttentionPass::kBackward}) {
    for (const std::int64_t length : {128, 512, 1024}) {
      for (const std::int64_t head_size : {32, 64, 128}) {
        operations.emplace_back(Attention{.sequences = 2,
                                          .query_heads = 8,
                                          .key_heads = 4,
                                          .queries = length,
                                          .keys = length,
                                          .head_size = head_size,
                                          .pass = pass,
                                          .query_tile = 64});
      }
    }
  }
  return operations;
}

std::vector<Operation> passes() {
  std::vector<Operation> operations;
  for (int kernel = 0; kernel < kElementwiseKernels; ++kernel) {
    for (const std::int64_t elements : {1 << 15, 1 << 18, 1 << 22}) {
      operations.emplace_back(elementwise_case(static_cast<ElementwiseKernel>(kernel), elements));
    }
  }
  return operations;
}

double rate(double amount, const OperationTime& time) { return amount / time.median.si() * 1e-9; }

void print(const Gemm& g, const OperationTime& time, double best) {
  const char* order[] = {"NN", "NT", "TN"};
  const double gflops = rate(static_cast<double>(flops(Operation(g)).value()), time);
  fmt::print("matmul {}{} {:5} {:5} {:5}  {:9.1f} us (least {:9.1f}) {:7.1f} GFLOP/s {:4.0f} % of best\n",
             order[static_cast<int>(g.transpose)], g.accumulate ? "+" : " ", g.m, g.n, g.k, time.median.si() * 1e6,
             time.minimum.si() * 1e6, gflops, 100.0 * gflops / best);
}

void print(const Attention& a, const OperationTime& time, double best) {
  const double gflops = rate(static_cast<double>(attention_flops(a).value()), time);
  fmt::print("attention {} length {:5} head {:4}  {:9.1f} us (least {:9.1f}) {:7.1f} GFLOP/s {:4.0f} % of best\n",
             a.pass == AttentionPass::kForward ? "forward " : "backward", a.queries, a.head_size,
             time.median.si() * 1e6, time.minimum.si() * 1e6, gflops, 100.0 * gflops / best);
}

void print(const Elementwise& e, const OperationTime& time, double best) {
  const double gigabytes = rate(static_cast<double>((e.read + e.written).value()), time);
  fmt::print("{:21} {:8}  {:9.1f} us (least {:9.1f}) {:7.1f} GB/s    {:4.0f} % of copy\n",
             std::string(to_string(e.kernel)), e.elements, time.median.si() * 1e6, time.minimum.si() * 1e6, gigabytes,
             100.0 * gigabytes / best);
}

}  // namespace

int main(int argc, char** argv) {
  const int threads = argc > 1 ? std::atoi(argv[1]) : 1;
  MeasureOptions options;
  options.rounds = argc > 2 ? std::atoi(argv[2]) : 5;
  const auto device = make_cpu_device({threads});
  std::vector<Operation> operations = products();
  for (const auto& more : {attentions(), passes()}) {
    operations.insert(operations.end(), more.begin(), more.end());
  }
  const std::vector<OperationTime> times = time_operations(*device, operations, options);

  double best_product = 0.0;
  std::map<std::int64_t, double> copies;  // by elements
  for (std::size_t i = 0; i < operations.size(); ++i) {
    if (std::holds_alternative<Gemm>(operations[i])) {
      best_product = std::max(best_product, rate(static_cast<double>(flops(operations[i]).value()), times[i]));
    } else if (const auto* e = std::get_if<Elementwise>(&operations[i]);
               e != nullptr && e->kernel == ElementwiseKernel::kCopy) {
      copies[e->elements] = rate(static_cast<double>((e->read + e->written).value()), times[i]);
    }
  }
  fmt::print("{} thread(s); best product {:.1f} GFLOP/s\n", threads, best_product);
  for (std::size_t i = 0; i < operations.size(); ++i) {
    if (const auto* g = std::get_if<Gemm>(&operations[i])) {
      print(*g, times[i], best_product);
    } else if (const auto* a = std::get_if<Attention>(&operations[i])) {
      print(*a, times[i], best_product);
    } else {
      const auto& e = std::get<Elementwise>(operations[i]);
      print(e, times[i], copies.at(e.elements));
    }
  }
  const StreamOverheads overheads = measure_stream_overheads(*device);
  fmt::print("per instruction {:.2f} us, handover to another stream {:.2f} us\n", overheads.instruction.si() * 1e6,
             overheads.handover.si() * 1e6);
  return 0;
}
