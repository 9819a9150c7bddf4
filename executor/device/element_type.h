// From the DataType of an array to the element type of a kernel's template.
#pragma once

#include <initializer_list>
#include <string>

#include "core/error.h"
#include "executor/device/values.h"

namespace trainyard::executor {

// Calls visit(T{}) with the type of the elements.
template <class Visit>
void with_element_type(DataType type, const Visit& visit) {
  if (type == DataType::kBf16) {
    visit(Bfloat16{});
    return;
  }
  check(type == DataType::kFp32, "kernels work on fp32 and bf16");
  visit(float{});
}

// Calls visit(T{}, G{}): activations of type T, parameter gradients of that type or fp32.
template <class Visit>
void with_gradient_type(DataType type, DataType gradient, const Visit& visit) {
  if (type == DataType::kBf16 && gradient == DataType::kFp32) {
    visit(Bfloat16{}, float{});
    return;
  }
  check(type == gradient, "gradients are of the activations' type or fp32");
  with_element_type(type, [&]<class T>(T) { visit(T{}, T{}); });
}

// The type that all operands share; those that are null don't count.
inline DataType common_type(std::initializer_list<ConstValues> operands) {
  const ConstValues* first = operands.begin();
  for (const ConstValues& operand : operands) {
    check(!operand || operand.type == first->type, "operands of one call share a type");
  }
  return first->type;
}

}  // namespace trainyard::executor
