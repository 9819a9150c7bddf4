// SerialGroup: one CPU thread working through the elements of a row.
//
// Kernel bodies are written against a group: `each` visits all elements in any order, `sum` and `maximum`
// reduce over them. On a GPU the group is a block of threads that share the row.
//
// Sums run in kLanes fixed partial sums, folded pairwise: a chain of additions as long as the row would wait
// for each, and the result doesn't depend on the width of the vectors that the compiler chooses.
#pragma once

#include <cstdint>
#include <limits>

namespace trainyard::executor {

class SerialGroup {
 public:
  // Elements must be independent of each other; operands may be the same array, not shifted ones.
  template <class Visit>
  void each(std::int64_t elements, Visit visit) const {
#pragma GCC ivdep
    for (std::int64_t i = 0; i < elements; ++i) {
      visit(i);
    }
  }

  template <class Term>
  float sum(std::int64_t elements, Term term) const {
    float lanes[kLanes] = {};
    std::int64_t i = 0;
    for (; i + kLanes <= elements; i += kLanes) {
      for (int lane = 0; lane < kLanes; ++lane) {
        lanes[lane] += term(i + lane);
      }
    }
    for (int lane = 0; i < elements; ++i, ++lane) {
      lanes[lane] += term(i);
    }
    for (int half = kLanes / 2; half > 0; half /= 2) {
      for (int lane = 0; lane < half; ++lane) {
        lanes[lane] += lanes[lane + half];
      }
    }
    return lanes[0];
  }

  template <class Term>
  float maximum(std::int64_t elements, Term term) const {
    float lanes[kLanes];
    for (float& lane : lanes) {
      lane = -std::numeric_limits<float>::infinity();
    }
    std::int64_t i = 0;
    for (; i + kLanes <= elements; i += kLanes) {
      for (int lane = 0; lane < kLanes; ++lane) {
        const float value = term(i + lane);
        lanes[lane] = lanes[lane] < value ? value : lanes[lane];
      }
    }
    for (int lane = 0; i < elements; ++i, ++lane) {
      const float value = term(i);
      lanes[lane] = lanes[lane] < value ? value : lanes[lane];
    }
    for (int half = kLanes / 2; half > 0; half /= 2) {
      for (int lane = 0; lane < half; ++lane) {
        lanes[lane] = lanes[lane] < lanes[lane + half] ? lanes[lane + half] : lanes[lane];
      }
    }
    return lanes[0];
  }

 private:
  static constexpr int kLanes = 32;
};

}  // namespace trainyard::executor
