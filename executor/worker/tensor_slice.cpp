#include "executor/worker/tensor_slice.h"

#include <algorithm>

#include "core/error.h"

namespace trainyard::executor {

void for_each_run(std::span<const std::int64_t> shape, std::span<const IndexRange> ranges, const RunVisitor& visit,
                  int parts) {
  check(shape.size() == ranges.size() && (shape.size() == 1 || shape.size() == 2), "parameters have 1 or 2 dimensions");
  const std::int64_t width = shape.back();
  const IndexRange columns = ranges.back();
  const IndexRange rows = shape.size() == 2 ? ranges.front() : IndexRange{0, 1};
  if (columns.size() == width) {
    visit(rows.begin * width, 0, rows.size() * width);
    return;
  }
  check(width % parts == 0 && columns.begin % parts == 0 && columns.end % parts == 0, "parts are cut alike");
  const std::int64_t each = columns.size() / parts;
  for (std::int64_t row = rows.begin; row < rows.end; ++row) {
    for (std::int64_t part = 0; part < parts; ++part) {
      visit(row * width + part * (width / parts) + columns.begin / parts,
            (row - rows.begin) * columns.size() + part * each, each);
    }
  }
}

int parts_of(const Parameter& parameter) { return parameter.kind == ParameterKind::kQueryKeyValue ? 3 : 1; }

void place(const TensorSlice& slice, std::span<float> whole) {
  for_each_run(
      slice.parameter.shape, slice.ranges,
      [&](std::int64_t in_whole, std::int64_t in_slice, std::int64_t elements) {
        const std::int64_t begin = std::max(in_slice, slice.flat.begin);
        const std::int64_t end = std::min(in_slice + elements, slice.flat.end);
        if (begin < end) {
          std::copy_n(slice.values.begin() + (begin - slice.flat.begin), end - begin,
                      whole.begin() + in_whole + (begin - in_slice));
        }
      },
      parts_of(slice.parameter));
}

}  // namespace trainyard::executor
