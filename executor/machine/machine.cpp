#include "executor/machine/machine.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sched.h>
#include <sys/socket.h>
#include <sys/statvfs.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <fstream>
#include <sstream>
#include <string_view>
#include <utility>

namespace trainyard::executor {

namespace {

std::optional<std::string> first_line(const std::filesystem::path& file) {
  std::ifstream in(file);
  std::string line;
  if (!std::getline(in, line)) {
    return std::nullopt;
  }
  return line;
}

// The text after "key<separator>" of the first line that begins with key.
std::optional<std::string> field(const std::filesystem::path& file, std::string_view key, char separator) {
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);) {
    if (!line.starts_with(key)) {
      continue;
    }
    const std::size_t at = line.find(separator);
    if (at == std::string::npos) {
      continue;
    }
    const std::size_t begin = line.find_first_not_of(" \t\"", at + 1);
    const std::size_t end = line.find_last_not_of(" \t\"");
    return begin == std::string::npos ? std::string() : line.substr(begin, end - begin + 1);
  }
  return std::nullopt;
}

std::optional<double> number(const std::optional<std::string>& text) {
  double value = 0;
  if (!text || !(std::istringstream(*text) >> value)) {
    return std::nullopt;
  }
  return value;
}

ByteCount kibibytes(const char* key) {
  return ByteCount(static_cast<std::int64_t>(number(field("/proc/meminfo", key, ':')).value_or(0)) * 1024);
}

// The directories of this process's control group, innermost first; the root's last.
std::vector<std::filesystem::path> control_groups() {
  const std::filesystem::path root = "/sys/fs/cgroup";
  std::vector<std::filesystem::path> groups;
  const auto line = field("/proc/self/cgroup", "0::", ':');
  if (line && line->size() > 1) {
    for (std::filesystem::path path = line->substr(1); path.has_relative_path(); path = path.parent_path()) {
      groups.push_back(root / path.relative_path());
    }
  }
  groups.push_back(root);
  return groups;
}

std::optional<double> cpu_quota() {
  std::optional<double> least;
  const auto keep = [&least](double quota, double period) {
    if (quota > 0 && period > 0) {
      least = std::min(least.value_or(quota / period), quota / period);
    }
  };
  for (const auto& group : control_groups()) {
    if (const auto line = first_line(group / "cpu.max")) {  // "200000 100000" or "max 100000"
      double quota = 0;
      double period = 0;
      if (std::istringstream(*line) >> quota >> period) {
        keep(quota, period);
      }
    }
  }
  const std::filesystem::path v1 = "/sys/fs/cgroup/cpu";
  keep(number(first_line(v1 / "cpu.cfs_quota_us")).value_or(0),
       number(first_line(v1 / "cpu.cfs_period_us")).value_or(0));
  return least;
}

std::optional<ByteCount> memory_limit(ByteCount total) {
  std::optional<ByteCount> least;
  const auto keep = [&](const std::filesystem::path& file) {
    const auto limit = number(first_line(file));  // "max" is no number
    if (limit && *limit < static_cast<double>(total.value())) {
      const ByteCount bytes(static_cast<std::int64_t>(*limit));
      least = least ? std::min(*least, bytes) : bytes;
    }
  };
  for (const auto& group : control_groups()) {
    keep(group / "memory.max");
  }
  keep("/sys/fs/cgroup/memory/memory.limit_in_bytes");
  return least;
}

std::vector<std::string> extensions() {
  constexpr std::array kWanted = {"sse4_2",   "avx",         "avx2",     "fma",      "f16c",  "avx512f",
                                  "avx512bw", "avx512_bf16", "amx_bf16", "amx_tile", "asimd", "sve"};
  auto flags = field("/proc/cpuinfo", "flags", ':');
  if (!flags) {
    flags = field("/proc/cpuinfo", "Features", ':');  // aarch64
  }
  std::istringstream words(flags.value_or(""));
  std::vector<std::string> found;
  for (std::string word; words >> word;) {
    if (std::find(kWanted.begin(), kWanted.end(), word) != kWanted.end()) {
      found.push_back(word);
    }
  }
  return found;
}

Processor read_processor() {
  Processor processor;
  processor.name = field("/proc/cpuinfo", "model name", ':').value_or("unknown");
  processor.extensions = extensions();
  processor.online = static_cast<int>(std::max(1L, sysconf(_SC_NPROCESSORS_ONLN)));
  cpu_set_t set;
  CPU_ZERO(&set);
  processor.usable = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : processor.online;
  processor.quota = cpu_quota();
  return processor;
}

// The bracketed word of "always [madvise] never".
std::optional<std::string> huge_page_mode() {
  const auto line = first_line("/sys/kernel/mm/transparent_hugepage/enabled");
  if (!line) {
    return std::nullopt;
  }
  const std::size_t begin = line->find('[');
  const std::size_t end = line->find(']');
  if (begin == std::string::npos || end == std::string::npos || end < begin) {
    return std::nullopt;
  }
  return line->substr(begin + 1, end - begin - 1);
}

}  // namespace

int Processor::cores() const {
  const int allowed = std::min(online, usable);
  return quota ? std::clamp(static_cast<int>(std::lround(*quota)), 1, allowed) : allowed;
}

ByteCount MachineMemory::usable() const { return limit ? std::min(*limit, total) : total; }

Machine read_machine() {
  Machine machine;
  utsname names{};
  if (uname(&names) == 0) {
    machine.host = names.nodename;
    machine.system =
        field("/etc/os-release", "PRETTY_NAME", '=').value_or("Linux") + ", " + names.sysname + " " + names.release;
  }
  machine.processor = read_processor();
  machine.memory.total = kibibytes("MemTotal:");
  machine.memory.available = kibibytes("MemAvailable:");
  machine.memory.limit = memory_limit(machine.memory.total);
  machine.huge_pages = huge_page_mode();
  machine.shared_memory = std::filesystem::exists("/dev/shm") ? free_disk("/dev/shm") : std::nullopt;
  return machine;
}

std::optional<ByteCount> free_disk(const std::filesystem::path& path) {
  std::error_code ignored;
  std::filesystem::path existing = std::filesystem::absolute(path, ignored);
  while (!std::filesystem::exists(existing, ignored) && existing.has_relative_path()) {
    existing = existing.parent_path();
  }
  struct statvfs info {};
  if (statvfs(existing.c_str(), &info) != 0) {
    return std::nullopt;
  }
  return ByteCount(static_cast<std::int64_t>(info.f_bavail) * static_cast<std::int64_t>(info.f_frsize));
}

int bindable_loopback_ports(int wanted) {
  std::vector<int> sockets;
  for (int i = 0; i < wanted; ++i) {
    const int descriptor = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (descriptor < 0) {
      break;
    }
    sockets.push_back(descriptor);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (bind(descriptor, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
      close(descriptor);
      sockets.pop_back();
      break;
    }
  }
  for (const int descriptor : sockets) {
    close(descriptor);
  }
  return static_cast<int>(sockets.size());
}

}  // namespace trainyard::executor
