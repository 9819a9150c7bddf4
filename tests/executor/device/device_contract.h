// DeviceContract: every method of Device on every device, against the CPU device, whose own tests compare it with fp64
// references.
//
// The devices: "cuda", skipped where no GPU is; and "emulated", the same kernels as on a GPU run thread by thread on
// the CPU (cuda/emulated_block.h), everywhere. fp32 to 1e-5; bf16 and fp16 to two units in their last place, 2^-7 and
// 2^-10, of the larger of the value and the deviation of the inputs, as sums in another order may round another way.
//
// Its tests lie in *_contract_test.cpp, by concept; cases are made in device_contract.cpp.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "executor/device/device.h"
#include "tests/executor/device/device_fixture.h"

namespace trainyard::executor {

struct ContractCase {
  std::string device;
  DataType type;
};

// A device and arrays in its memory, of the case's type or as asked for.
class ContractArrays {
 public:
  ContractArrays(std::unique_ptr<Device> device, DataType type) : device_(std::move(device)), type_(type) {}

  Device* operator->() const { return device_.get(); }

  template <class T>
  T* raw(const std::vector<T>& values) {
    const ByteCount bytes(static_cast<std::int64_t>(values.size() * sizeof(T)));
    T* memory = static_cast<T*>(device_->allocate(bytes));
    device_->copy_in(Stream::kCompute, memory, values.data(), bytes);
    device_->synchronize();
    return memory;
  }
  float* floats(std::int64_t count, unsigned seed, double deviation = 1.0);
  Values values(std::int64_t count, unsigned seed, double deviation = 1.0);
  Values of_type(const std::vector<double>& values, DataType type);
  // NaN: whatever a kernel leaves unwritten shows.
  Values unwritten(std::int64_t count);
  float* unwritten_floats(std::int64_t count);

  // Appends to results or sums.
  void read(Values values, std::int64_t count);
  void read_words(const std::int64_t* words);

  DataType type() const { return type_; }

  std::vector<std::vector<float>> results;
  std::vector<std::vector<std::int64_t>> sums;

 private:
  template <class T>
  Values rounded(const std::vector<double>& values);
  template <class T>
  std::vector<T> read_raw(const T* memory, std::int64_t count);

  std::unique_ptr<Device> device_;
  DataType type_;
};

class DeviceContract : public testing::TestWithParam<ContractCase> {
 protected:
  using Arrays = ContractArrays;
  static constexpr Stream kStream = Stream::kCompute;
  // Rows of whole 16-byte packs, and rows that are none.
  static constexpr std::int64_t kWidths[] = {8, 64, 264, 2056, 7, 130, 333};

  void SetUp() override;

  Arrays arrays(const std::string& device) const;
  double tolerance() const;
  // Runs `work` on the case's device and on the CPU and compares what it read. Integer sums are equal to the bit.
  void expect_same(const std::function<void(Arrays&)>& work, double deviation = 1.0) const;
};

}  // namespace trainyard::executor
