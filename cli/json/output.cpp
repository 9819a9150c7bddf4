#include "cli/json/output.h"

#include <cstdio>
#include <nlohmann/json.hpp>

namespace trainyard::cli {

void print_json(const nlohmann::ordered_json& object) {
  // Names of files may hold bytes that aren't UTF-8: replaced, so that the object stays JSON.
  const std::string text = object.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
  std::fwrite(text.data(), 1, text.size(), stdout);
}

void print_error_json(const std::string& problem, const std::string& where, const std::string& hint) {
  nlohmann::ordered_json error;
  error["problem"] = problem;
  error["where"] = where;
  error["hint"] = hint;
  print_json({{"error", error}});
  std::fflush(stdout);
}

}  // namespace trainyard::cli
