// A CPU device with arrays moved in and out of it as a test needs them.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <memory>
#include <random>
#include <utility>
#include <vector>

#include "executor/device/cpu_device.h"
#include "tests/executor/device/reference.h"

namespace trainyard::executor {

// Normal values that fp32 holds exactly, so that the reference sees the same inputs as the device.
inline std::vector<double> normal_values(std::int64_t count, unsigned seed, double deviation = 1.0) {
  std::mt19937 generator(seed);
  std::normal_distribution<float> distribution(0.0f, static_cast<float>(deviation));
  std::vector<double> values(static_cast<std::size_t>(count));
  for (double& value : values) {
    value = distribution(generator);
  }
  return values;
}

inline std::vector<std::int32_t> token_values(std::int64_t count, std::int32_t vocabulary, unsigned seed) {
  std::mt19937 generator(seed);
  std::uniform_int_distribution<std::int32_t> distribution(0, vocabulary - 1);
  std::vector<std::int32_t> values(static_cast<std::size_t>(count));
  for (std::int32_t& value : values) {
    value = distribution(generator);
  }
  return values;
}

class DeviceArrays {
 public:
  explicit DeviceArrays(int threads = 1) : device_(make_cpu_device({threads})) {}
  explicit DeviceArrays(CpuDeviceOptions options) : device_(make_cpu_device(std::move(options))) {}

  Device& operator*() const { return *device_; }
  Device* operator->() const { return device_.get(); }

  template <class T>
  T* upload(const std::vector<T>& values) {
    const ByteCount bytes(static_cast<std::int64_t>(values.size() * sizeof(T)));
    T* memory = static_cast<T*>(device_->allocate(bytes));
    device_->copy_in(Stream::kCompute, memory, values.data(), bytes);
    device_->synchronize();
    return memory;
  }
  float* upload(const std::vector<double>& values) { return upload(std::vector<float>(values.begin(), values.end())); }
  // Filled with NaN: whatever a kernel leaves unwritten shows.
  float* unwritten(std::int64_t count) {
    return upload(std::vector<float>(static_cast<std::size_t>(count), std::nanf("")));
  }

  template <class T>
  std::vector<T> download(const T* memory, std::int64_t count) {
    std::vector<T> values(static_cast<std::size_t>(count));
    device_->copy_out(Stream::kCompute, values.data(), memory, ByteCount(count * static_cast<std::int64_t>(sizeof(T))));
    device_->synchronize();
    return values;
  }

 private:
  std::unique_ptr<Device> device_;
};

// |got - expected| <= absolute + relative * |expected|, executor tests' fp32 tolerance by default.
inline void expect_close(const std::vector<float>& got, const std::vector<double>& expected, double relative = 1e-5,
                         double absolute = 1e-5) {
  ASSERT_EQ(got.size(), expected.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    ASSERT_LE(std::abs(got[i] - expected[i]), absolute + relative * std::abs(expected[i]))
        << "element " << i << ": " << got[i] << " instead of " << expected[i];
  }
}

// The gradient of dot(weights, f(x)) with respect to x by central differences, against `gradient`: relative
// error 1e-6 of the largest element.
template <class Function>
void expect_gradient(const std::vector<double>& x, const std::vector<double>& weights,
                     const std::vector<double>& gradient, const Function& f) {
  ASSERT_EQ(gradient.size(), x.size());
  double largest = 0.0;
  for (const double element : gradient) {
    largest = std::max(largest, std::abs(element));
  }
  constexpr double kStep = 1e-5;
  std::vector<double> moved = x;
  for (std::size_t i = 0; i < x.size(); ++i) {
    double difference = 0.0;
    for (const double sign : {1.0, -1.0}) {
      moved[i] = x[i] + sign * kStep;
      const std::vector<double> y = f(moved);
      for (std::size_t j = 0; j < y.size(); ++j) {
        difference += sign * weights[j] * y[j];
      }
    }
    moved[i] = x[i];
    ASSERT_NEAR(difference / (2.0 * kStep), gradient[i], 1e-6 * largest) << "element " << i;
  }
}

}  // namespace trainyard::executor
