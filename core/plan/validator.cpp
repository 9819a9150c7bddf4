#include "core/plan/validator.h"

#include <fmt/format.h>

#include "core/error.h"

namespace trainyard {

namespace {

// The kernels compute in single precision.
constexpr double kLargestSetting = 1e30;

}  // namespace

void Validator::require(bool holds, std::string_view pointer, const std::string& what, const std::string& hint) const {
  if (!holds) {
    throw Error(what, fmt::format("{}#{}", where_, pointer), hint);
  }
}

void Validator::positive(std::int64_t value, std::string_view pointer) const {
  require(value >= 1, pointer, fmt::format("is {}", value), "must be at least 1");
}

void Validator::in_range(std::int64_t value, std::int64_t most, std::string_view pointer) const {
  require(value >= 1 && value <= most, pointer, fmt::format("is {}", value), fmt::format("must be 1 to {}", most));
}

void Validator::within(double value, double lowest, double highest, std::string_view pointer) const {
  require(value >= lowest && value <= highest, pointer, fmt::format("is {}", value),
          fmt::format("must be from {} to {}", lowest, highest));
}

void Validator::above_zero(double value, std::string_view pointer) const {
  require(value > 0.0 && value <= kLargestSetting, pointer, fmt::format("is {}", value),
          fmt::format("must be above 0, at most {}", kLargestSetting));
}

void Validator::divides(std::int64_t divisor, std::int64_t number, std::string_view pointer,
                        std::string_view of) const {
  require(number % divisor == 0, pointer, fmt::format("{} does not divide {} {}", divisor, number, of),
          "choose a divisor");
}

}  // namespace trainyard
