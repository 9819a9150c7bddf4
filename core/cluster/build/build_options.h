// The keys of a builder spec, checked: what a person gave, or the builder's fallback.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/cluster/builder.h"

namespace trainyard::build {

class BuildOptions {
 public:
  // Throws Error for text that isn't key=value,..., and for a key that the builder doesn't have or that is given twice.
  BuildOptions(const BuilderInfo& info, std::string_view keys, std::string spec);

  bool given(std::string_view key) const;
  std::string text(std::string_view key) const;
  int integer(std::string_view key, int lowest, int highest) const;
  double number(std::string_view key, double lowest, double highest) const;
  bool yes(std::string_view key) const;  // "yes" or "no"
  std::string choice(std::string_view key, const std::vector<std::string>& choices) const;
  std::vector<int> dimensions(std::string_view key) const;  // "4x4x8"
  BytesPerSecond rate(std::string_view key) const;          // "400 Gbit/s"; a space is optional

  [[noreturn]] void fail(const std::string& what, const std::string& hint = {}) const;

 private:
  std::map<std::string, std::string, std::less<>> values_;
  std::map<std::string, std::string, std::less<>> given_;
  std::string spec_;
};

}  // namespace trainyard::build
