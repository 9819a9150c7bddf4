// TensorSlice: a rank's part of a parameter (or of its gradient) on the host, and where it lies in the whole.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "core/layout/shard_spec.h"
#include "core/model/parameter.h"

namespace trainyard::executor {

struct TensorSlice {
  Parameter parameter;
  std::vector<IndexRange> ranges;  // per dimension of the whole
  IndexRange flat;                 // which elements of the row-major slice `values` holds (ZeRO: this rank's)
  std::vector<float> values;
};

// Fills `values`, the row-major slice `ranges` of a parameter.
using WeightSource =
    std::function<void(const Parameter& parameter, std::span<const IndexRange> ranges, std::span<float> values)>;

// Calls visit(offset in the whole, offset in the slice, elements) for each run of elements that is contiguous
// in both. Shapes of one or two dimensions. parts: the last dimension is so many tensors of one size side by side; a
// slice has its share of each, and `ranges` counts their elements turn by turn, so that it is one range all the same:
// [b, e) of p parts is [b / p, e / p) of each.
using RunVisitor = std::function<void(std::int64_t whole, std::int64_t slice, std::int64_t elements)>;
void for_each_run(std::span<const std::int64_t> shape, std::span<const IndexRange> ranges, const RunVisitor& visit,
                  int parts = 1);

// 3 for GPT-2's query, key and value, which its files hold as one tensor; 1 for all others that the executor runs.
int parts_of(const Parameter& parameter);

// Copies what the slice holds to its place in the whole tensor.
void place(const TensorSlice& slice, std::span<float> whole);

}  // namespace trainyard::executor
