// Whole tensors from the ranks' slices, and how far two sets of them are apart.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "executor/worker/tensor_slice.h"

namespace trainyard::executor {

struct WholeTensor {
  std::vector<float> values;
  bool complete = false;        // every element was held by some rank
  bool replicas_agree = false;  // elements held by several ranks have the same bits
};
using WholeTensors = std::map<std::string, WholeTensor>;  // by parameter name

WholeTensors assemble(const std::vector<const std::vector<TensorSlice>*>& ranks);

// |a - b| / |b| in the L2 norm, in fp64.
double relative_difference(const std::vector<float>& a, const std::vector<float>& b);

// The parameter that differs most, relatively; bitwise_equal: not one bit anywhere.
struct Difference {
  std::string parameter;
  double largest = 0;
  bool bitwise_equal = true;
};
Difference compare(const WholeTensors& a, const WholeTensors& b);

}  // namespace trainyard::executor
