#include "tests/executor/worker/tensor_comparison.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "core/error.h"

namespace trainyard::executor {

namespace {

// A quiet NaN with a payload that no computation makes.
constexpr std::uint32_t kUnset = 0x7FC0BEEF;
bool unset(float value) { return std::bit_cast<std::uint32_t>(value) == kUnset; }
bool same_bits(float a, float b) { return std::bit_cast<std::uint32_t>(a) == std::bit_cast<std::uint32_t>(b); }

void add_slice(WholeTensor& tensor, const TensorSlice& slice) {
  const auto elements = static_cast<std::size_t>(element_count(slice.parameter));
  std::vector<float> placed(elements, std::bit_cast<float>(kUnset));
  place(slice, placed);
  if (tensor.values.empty()) {
    tensor.values = placed;
    tensor.replicas_agree = true;
    return;
  }
  for (std::size_t i = 0; i < elements; ++i) {
    if (unset(placed[i])) {
      continue;
    }
    tensor.replicas_agree =
        tensor.replicas_agree && (unset(tensor.values[i]) || same_bits(tensor.values[i], placed[i]));
    tensor.values[i] = placed[i];
  }
}

}  // namespace

WholeTensors assemble(const std::vector<const std::vector<TensorSlice>*>& ranks) {
  WholeTensors tensors;
  for (const std::vector<TensorSlice>* slices : ranks) {
    for (const TensorSlice& slice : *slices) {
      add_slice(tensors[slice.parameter.name], slice);
    }
  }
  for (auto& [name, tensor] : tensors) {
    tensor.complete = true;
    for (const float value : tensor.values) {
      tensor.complete = tensor.complete && !unset(value);
    }
  }
  return tensors;
}

double relative_difference(const std::vector<float>& a, const std::vector<float>& b) {
  check(a.size() == b.size(), "tensors of one shape");
  double difference = 0;
  double norm = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double d = static_cast<double>(a[i]) - static_cast<double>(b[i]);
    difference += d * d;
    norm += static_cast<double>(b[i]) * static_cast<double>(b[i]);
  }
  return std::sqrt(difference / norm);
}

Difference compare(const WholeTensors& a, const WholeTensors& b) {
  check(a.size() == b.size(), "sets of the same tensors");
  Difference worst;
  for (const auto& [name, tensor] : a) {
    const std::vector<float>& other = b.at(name).values;
    const double relative = relative_difference(tensor.values, other);
    if (!(relative <= worst.largest)) {  // NaN counts as largest
      worst.largest = std::isnan(relative) ? std::numeric_limits<double>::infinity() : relative;
      worst.parameter = name;
    }
    for (std::size_t i = 0; i < other.size(); ++i) {
      worst.bitwise_equal = worst.bitwise_equal && same_bits(tensor.values[i], other[i]);
    }
  }
  return worst;
}

}  // namespace trainyard::executor
