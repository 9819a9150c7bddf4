// Files of the folder ../shared/reference beside the repository, which not every machine has.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <optional>

namespace trainyard {

// `inside`, such as "published/throughput.json"; TRAINYARD_REFERENCE names another folder to look in. Nothing where it
// isn't: the test skips.
inline std::optional<std::filesystem::path> reference_file(const std::filesystem::path& inside) {
  const char* given = std::getenv("TRAINYARD_REFERENCE");
  const std::filesystem::path folder =
      given != nullptr ? given : std::filesystem::path(TRAINYARD_SOURCE_DIR) / "../shared/reference";
  const std::filesystem::path file = folder / inside;
  return std::filesystem::exists(file) ? std::optional(file) : std::nullopt;
}

}  // namespace trainyard
