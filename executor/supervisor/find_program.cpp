#include "executor/supervisor/find_program.h"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <sstream>
#include <system_error>

namespace trainyard::executor {

std::optional<std::string> find_program(const std::string& name, const std::string& path) {
  if (name.find('/') != std::string::npos) {
    return name;
  }
  std::istringstream folders(path);
  for (std::string folder; std::getline(folders, folder, ':');) {
    const std::filesystem::path file = std::filesystem::path(folder.empty() ? "." : folder) / name;
    std::error_code unknown;
    if (std::filesystem::is_regular_file(file, unknown) && ::access(file.c_str(), X_OK) == 0) {
      return file.string();
    }
  }
  return std::nullopt;
}

std::string search_path() {
  const char* path = std::getenv("PATH");
  return path == nullptr ? std::string() : path;
}

}  // namespace trainyard::executor
