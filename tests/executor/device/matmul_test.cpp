#include <cstring>

#include "executor/device/matrix_product.h"
#include "tests/executor/device/device_fixture.h"

namespace trainyard::executor {
namespace {

Gemm product(Transpose transpose, std::int64_t m, std::int64_t n, std::int64_t k, bool accumulate = false) {
  Gemm gemm;
  gemm.m = m;
  gemm.n = n;
  gemm.k = k;
  gemm.transpose = transpose;
  gemm.accumulate = accumulate;
  return gemm;
}

void expect_product(Transpose transpose, std::int64_t m, std::int64_t n, std::int64_t k) {
  SCOPED_TRACE(testing::Message() << static_cast<int>(transpose) << ": " << m << " " << n << " " << k);
  const auto a = normal_values(m * k, 1), b = normal_values(k * n, 2), before = normal_values(m * n, 3);
  auto expected = reference::matmul(transpose, m, n, k, a, b);
  DeviceArrays device;
  const float *da = device.upload(a), *db = device.upload(b);
  float* c = device.unwritten(m * n);
  device->matmul(Stream::kCompute, product(transpose, m, n, k), da, db, c, {});
  // A sum of k products of unit normals has deviation sqrt(k); rounding errors add up likewise.
  expect_close(device.download(c, m * n), expected, 1e-5, 1e-6 * std::sqrt(static_cast<double>(k)) * 4);
  float* sum = device.upload(before);
  device->matmul(Stream::kCompute, product(transpose, m, n, k, true), da, db, sum, {});
  for (std::size_t i = 0; i < expected.size(); ++i) {
    expected[i] += before[i];
  }
  expect_close(device.download(sum, m * n), expected, 1e-5, 1e-6 * std::sqrt(static_cast<double>(k)) * 4);
}

TEST(Matmul, EqualsThePlainSumForEveryStorageOrderWholeAndInTiles) {
  for (const Transpose transpose : {Transpose::kNN, Transpose::kNT, Transpose::kTN}) {
    expect_product(transpose, 1, 1, 1);
    expect_product(transpose, 37, 53, 61);
    expect_product(transpose, 16, 1111, 9);   // columns in two tiles
    expect_product(transpose, 1100, 33, 20);  // rows in two tiles
  }
}

TEST(Matmul, TilesCoverTheProductOnceAndDependOnItsShapeOnly) {
  for (const std::int64_t m : {1, 511, 512, 1024, 5000}) {
    for (const std::int64_t n : {1, 700, 1024, 1535, 50304}) {
      const ProductTiling tiling = product_tiling(m, n);
      const MatrixProduct whole{Transpose::kNN, m, n, 1, nullptr, 1, nullptr, n, nullptr, n, false};
      std::int64_t covered = 0;
      for (std::int64_t tile = 0; tile < tiling.tiles(); ++tile) {
        const MatrixProduct part = product_tile(whole, tiling, tile);
        EXPECT_GT(part.m, 0);
        EXPECT_GT(part.n, 0);
        covered += part.m * part.n;
      }
      EXPECT_EQ(covered, m * n) << m << " " << n;
    }
  }
}

TEST(Matmul, CountsTwoMnkAtTheCall) {
  DeviceArrays device;
  const float *a = device.upload(normal_values(64 * 8, 1)), *b = device.upload(normal_values(8 * 2048, 2));
  float* c = device.unwritten(64 * 2048);
  device->matmul(Stream::kCompute, product(Transpose::kNN, 64, 2048, 8), a, b, c, {});
  device->synchronize();
  EXPECT_EQ(device->counters().flops, flops(Operation(product(Transpose::kNN, 64, 2048, 8))));
  EXPECT_EQ(device->counters().flops.value(), 2 * 64 * 2048 * 8);
}

TEST(Matmul, ThreadsDoNotChangeABit) {
  const std::int64_t m = 300, n = 2100, k = 70;
  std::vector<float> results[2];
  for (const int threads : {1, 2}) {
    DeviceArrays device(threads);
    const float *a = device.upload(normal_values(m * k, 1)), *b = device.upload(normal_values(k * n, 2));
    float* c = device.unwritten(m * n);
    device->matmul(Stream::kCompute, product(Transpose::kNT, m, n, k), a, b, c, {});
    results[threads - 1] = device.download(c, m * n);
  }
  EXPECT_EQ(std::memcmp(results[0].data(), results[1].data(), results[0].size() * sizeof(float)), 0);
}

TEST(Matmul, SelfTestFindsTheLibraryExactToRounding) {
  // k <= 256 terms in fp32, relative to the sum of their sizes: k eps / 2 at the very worst is 1.5e-5.
  EXPECT_LT(matrix_product_self_test(), 1.5e-5);
  EXPECT_GT(matrix_product_self_test(), 0.0);
}

}  // namespace
}  // namespace trainyard::executor
