// Validator: what a part of a plan must hold, with the pointer of the part at fault.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/plan/plan.h"

namespace trainyard {

// Each throws Error at `pointer` where the condition doesn't hold.
class Validator {
 public:
  explicit Validator(const std::string& where) : where_(where) {}

  void require(bool holds, std::string_view pointer, const std::string& what, const std::string& hint = {}) const;
  void positive(std::int64_t value, std::string_view pointer) const;
  void in_range(std::int64_t value, std::int64_t most, std::string_view pointer) const;  // 1 to most
  void within(double value, double lowest, double highest, std::string_view pointer) const;
  void above_zero(double value, std::string_view pointer) const;  // and small enough for single precision
  void divides(std::int64_t divisor, std::int64_t number, std::string_view pointer, std::string_view of) const;
  const std::string& where() const { return where_; }

 private:
  const std::string& where_;
};

void validate_model(const ModelSpec& model, const Validator& v);
void validate_training(const Plan& plan, const Validator& v);
void validate_recovery(const RecoveryPolicy& recovery, const Validator& v);
// Degrees and their sizes, each by itself; then what the schedule and the mesh ask; then model and layout together.
void validate_layout(const Plan& plan, const Validator& v);

}  // namespace trainyard
