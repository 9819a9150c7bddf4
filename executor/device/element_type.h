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
  if (type == DataType::kFp16) {
    visit(Float16{});
    return;
  }
  check(type == DataType::kFp32, "kernels work on fp32, bf16 and fp16");
  visit(float{});
}

// Calls visit(T{}, G{}): activations of type T, parameter gradients of that type or fp32.
template <class Visit>
void with_gradient_type(DataType type, DataType gradient, const Visit& visit) {
  check(type == gradient || gradient == DataType::kFp32, "gradients are of the activations' type or fp32");
  with_element_type(type, [&]<class T>(T) {
    if (type == gradient) {
      visit(T{}, T{});
    } else {
      visit(T{}, float{});
    }
  });
}

// Calls visit(G{}, W{}): gradients of type G, the working copy of type W. `working` null: W is of no account.
template <class Visit>
void with_update_types(DataType gradients, Values working, const Visit& visit) {
  if (!working) {
    with_element_type(gradients, [&]<class G>(G) { visit(G{}, G{}); });
    return;
  }
  check(working.type != DataType::kFp32, "a working copy is narrower than fp32");
  with_gradient_type(working.type, gradients, [&]<class W, class G>(W, G) { visit(G{}, W{}); });
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
