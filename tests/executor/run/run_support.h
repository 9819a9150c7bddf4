// What tests of whole runs share.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <fstream>
#include <optional>
#include <string>

namespace trainyard::executor {

inline std::string pseudo_text(std::size_t bytes) {
  std::string text;
  while (text.size() < bytes) {
    text += "and it came to pass in those days, ";
    text += static_cast<char>('a' + text.size() % 23);
  }
  return text;
}

// The child process of this one that is this rank, found by its environment.
inline std::optional<pid_t> process_of_rank(int rank) {
  const std::string wanted = "TRAINYARD_RANK=" + std::to_string(rank);
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    std::ifstream children(task.path() / "children");
    for (pid_t pid = 0; children >> pid;) {
      std::ifstream environment("/proc/" + std::to_string(pid) + "/environ", std::ios::binary);
      for (std::string variable; std::getline(environment, variable, '\0');) {
        if (variable == wanted) {
          return pid;
        }
      }
    }
  }
  return std::nullopt;
}

}  // namespace trainyard::executor
