// The two ways in which Trainyard's own code fails.
//
// Error: input that a person can put right (a file, a flag, a missing device). It is the only exception
// type we throw; the command line prints it and exits 2, the desktop program shows it at the field.
// check(): a bug in Trainyard. On in every build; prints where and ends the process.
// A layout that cannot work is neither: it is a value, see core/plan/infeasible.h.
#pragma once

#include <source_location>
#include <stdexcept>
#include <string>
#include <string_view>

namespace trainyard {

class Error : public std::runtime_error {
 public:
  // what: what is wrong. where: the file, JSON pointer or flag that says it. hint: a way out.
  Error(std::string what, std::string where, std::string hint = {});

  const std::string& problem() const { return problem_; }
  const std::string& where() const { return where_; }
  const std::string& hint() const { return hint_; }

 private:
  std::string problem_;
  std::string where_;
  std::string hint_;
};

[[noreturn]] void check_failed(std::string_view message, std::source_location where);

inline void check(bool condition, std::string_view message,
                  std::source_location where = std::source_location::current()) {
  if (!condition) [[unlikely]] {
    check_failed(message, where);
  }
}

}  // namespace trainyard
