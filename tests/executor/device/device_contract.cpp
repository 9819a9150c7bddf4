#include "tests/executor/device/device_contract.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "core/program/norm_sum.h"
#include "executor/device/convert.h"
#include "executor/device/cuda_module.h"
#include "tests/executor/device/cuda/emulated_device.h"

namespace trainyard::executor {

namespace {

std::vector<double> not_numbers(std::int64_t count) {
  return std::vector<double>(static_cast<std::size_t>(count), std::numeric_limits<double>::quiet_NaN());
}

void compare(const ContractArrays& got, const ContractArrays& expected, double tolerance, double deviation) {
  ASSERT_EQ(got.results.size(), expected.results.size());
  ASSERT_GT(got.results.size() + got.sums.size(), 0U);
  for (std::size_t array = 0; array < got.results.size(); ++array) {
    ASSERT_EQ(got.results[array].size(), expected.results[array].size());
    for (std::size_t i = 0; i < got.results[array].size(); ++i) {
      const double x = got.results[array][i];
      const double y = expected.results[array][i];
      ASSERT_TRUE(x == y || std::abs(x - y) <= tolerance * std::max(std::abs(y), deviation))
          << "array " << array << ", element " << i << ": " << x << " instead of " << y;
    }
  }
}

std::string name_of(const testing::TestParamInfo<ContractCase>& info) {
  return info.param.device + "_" + std::string(to_string(info.param.type));
}

}  // namespace

template <class T>
Values ContractArrays::rounded(const std::vector<double>& values) {
  std::vector<T> narrow(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    store(&narrow[i], static_cast<float>(values[i]));
  }
  return raw(narrow);
}

template <class T>
std::vector<T> ContractArrays::read_raw(const T* memory, std::int64_t count) {
  std::vector<T> values(static_cast<std::size_t>(count));
  device_->copy_out(Stream::kCompute, values.data(), memory, ByteCount(count * static_cast<std::int64_t>(sizeof(T))));
  device_->synchronize();
  return values;
}

float* ContractArrays::floats(std::int64_t count, unsigned seed, double deviation) {
  const auto values = normal_values(count, seed, deviation);
  return raw(std::vector<float>(values.begin(), values.end()));
}

Values ContractArrays::values(std::int64_t count, unsigned seed, double deviation) {
  return of_type(normal_values(count, seed, deviation), type_);
}

Values ContractArrays::of_type(const std::vector<double>& values, DataType type) {
  if (type == DataType::kFp32) {
    return raw(std::vector<float>(values.begin(), values.end()));
  }
  return type == DataType::kBf16 ? rounded<Bfloat16>(values) : rounded<Float16>(values);
}

Values ContractArrays::unwritten(std::int64_t count) { return of_type(not_numbers(count), type_); }

float* ContractArrays::unwritten_floats(std::int64_t count) {
  return of_type(not_numbers(count), DataType::kFp32).as<float>();
}

void ContractArrays::read(Values values, std::int64_t count) {
  std::vector<float> result(static_cast<std::size_t>(count));
  if (values.type == DataType::kFp32) {
    result = read_raw(values.as<float>(), count);
  } else {
    const auto narrow = read_raw(values.as<std::uint16_t>(), count);
    to_floats(ConstValues(narrow.data(), values.type), result.data(), count);
  }
  results.push_back(std::move(result));
}

void ContractArrays::read_words(const std::int64_t* words) { sums.push_back(read_raw(words, kSumWords)); }

void DeviceContract::SetUp() {
  if (GetParam().device == "cuda") {
    const CudaStatus status = cuda_status();
    if (!status.problem.empty()) {
      GTEST_SKIP() << status.problem;
    }
  }
}

ContractArrays DeviceContract::arrays(const std::string& device) const {
  const DataType type = GetParam().type;
  if (device == "cuda") {
    return {make_cuda_device({}), type};
  }
  if (device == "emulated") {
    return {make_emulated_device({}), type};
  }
  if (device == "emulated descending") {
    return {make_emulated_device({}, ThreadOrder::kDescending), type};
  }
  return {make_cpu_device({.bf16 = Bf16Path::kWidened}), type};
}

double DeviceContract::tolerance() const {
  return GetParam().type == DataType::kFp32 ? 1e-5 : GetParam().type == DataType::kBf16 ? 0x1p-7 : 0x1p-10;
}

void DeviceContract::expect_same(const std::function<void(Arrays&)>& work, double deviation) const {
  Arrays expected = arrays("cpu");
  work(expected);
  Arrays got = arrays(GetParam().device);
  work(got);
  EXPECT_EQ(got.sums, expected.sums);
  compare(got, expected, tolerance(), deviation);
  // On the emulated device no result depends on which thread comes first; nor on a GPU on chance.
  Arrays again = arrays(GetParam().device == "emulated" ? "emulated descending" : GetParam().device);
  work(again);
  EXPECT_EQ(again.sums, got.sums);
  compare(again, got, 0.0, 0.0);
}

INSTANTIATE_TEST_SUITE_P(Devices, DeviceContract,
                         testing::Values(ContractCase{"emulated", DataType::kFp32},
                                         ContractCase{"emulated", DataType::kBf16},
                                         ContractCase{"emulated", DataType::kFp16},
                                         ContractCase{"cuda", DataType::kFp32}, ContractCase{"cuda", DataType::kBf16},
                                         ContractCase{"cuda", DataType::kFp16}),
                         name_of);

}  // namespace trainyard::executor
