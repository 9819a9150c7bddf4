#include "executor/run/process_memory.h"

#include <fstream>
#include <string>

#include "core/error.h"

namespace trainyard::executor {

ByteCount resident_peak() {
  constexpr std::int64_t kKibibyte = 1024;
  std::ifstream status("/proc/self/status");
  std::string key;
  while (status >> key) {
    std::int64_t kibibytes = 0;
    if (key == "VmHWM:" && status >> kibibytes) {
      return ByteCount(kibibytes * kKibibyte);
    }
    std::getline(status, key);
  }
  throw Error("has no VmHWM", "/proc/self/status", "mount /proc");
}

void reset_resident_peak() { std::ofstream("/proc/self/clear_refs") << 5; }

}  // namespace trainyard::executor
