#include "core/plan/run_record_tail.h"

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "core/error.h"

namespace trainyard {

namespace {

constexpr std::int64_t kFirstBlock = std::int64_t{16} << 10;  // some fifty steps

std::string last_bytes(std::ifstream& file, std::int64_t size, std::int64_t count) {
  std::string text(static_cast<std::size_t>(count), '\0');
  file.seekg(size - count);
  file.read(text.data(), count);
  return text;
}

// Of a step line the step after it, of a restart line the one that it goes on with.
std::optional<std::int64_t> steps_by(std::string_view line) {
  const nlohmann::json entry = nlohmann::json::parse(line, nullptr, false);
  if (!entry.is_object() || !entry.contains("record") || !entry.contains("step") ||
      !entry["step"].is_number_integer()) {
    return std::nullopt;
  }
  const auto step = entry["step"].get<std::int64_t>();
  return entry["record"] == "step"      ? std::optional(step + 1)
         : entry["record"] == "restart" ? std::optional(step)
                                        : std::nullopt;
}

// From the last whole line back to the first; whole: whether the text begins with the file.
std::optional<std::int64_t> steps_in(std::string_view text, bool whole) {
  std::size_t end = text.rfind('\n');
  while (end != std::string_view::npos && end > 0) {
    const std::size_t before = text.rfind('\n', end - 1);
    if (before == std::string_view::npos && !whole) {
      return std::nullopt;
    }
    const std::size_t begin = before == std::string_view::npos ? 0 : before + 1;
    if (const std::optional<std::int64_t> steps = steps_by(text.substr(begin, end - begin))) {
      return steps;
    }
    end = before;
  }
  return std::nullopt;
}

}  // namespace

std::int64_t steps_done(const std::filesystem::path& record) {
  std::error_code missing;
  const auto size = static_cast<std::int64_t>(std::filesystem::file_size(record, missing));
  if (missing) {
    return 0;
  }
  std::ifstream file(record, std::ios::binary);
  for (std::int64_t count = std::min(size, kFirstBlock);; count = std::min(size, 8 * count)) {
    const std::string text = last_bytes(file, size, count);
    if (!file) {
      throw Error("can't be read", record.string(), "check its permissions");
    }
    if (const std::optional<std::int64_t> steps = steps_in(text, count == size)) {
      return *steps;
    }
    if (count == size) {
      return 0;
    }
  }
}

}  // namespace trainyard
