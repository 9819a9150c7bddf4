#include "core/error.h"

#include <cstdio>
#include <cstdlib>
#include <utility>

namespace trainyard {

namespace {
std::string compose(const std::string& what, const std::string& where, const std::string& hint) {
  std::string text = where.empty() ? what : where + ": " + what;
  if (!hint.empty()) {
    text += " (" + hint + ")";
  }
  return text;
}
}  // namespace

Error::Error(std::string what, std::string where, std::string hint)
    : std::runtime_error(compose(what, where, hint)),
      problem_(std::move(what)),
      where_(std::move(where)),
      hint_(std::move(hint)) {}

void check_failed(std::string_view message, std::source_location where) {
  std::fprintf(stderr, "trainyard: bug: %.*s\n  at %s:%u in %s\n", static_cast<int>(message.size()), message.data(),
               where.file_name(), where.line(), where.function_name());
  std::fflush(stderr);
  std::abort();
}

}  // namespace trainyard
