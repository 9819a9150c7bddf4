// Files written whole or not at all: a reader sees the old file or the new one, also after a crash.
//
// The bytes go to a temporary in the same folder, which is flushed to the disk and renamed over the target;
// then the folder is flushed. Whatever fails (no space, no permission) is an Error that names the file, and
// the temporary is removed.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string_view>

namespace trainyard {

class AtomicFile {
 public:
  explicit AtomicFile(std::filesystem::path target);
  ~AtomicFile();  // without commit(): the temporary is removed, the target untouched
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  void write(std::string_view bytes);
  void write(std::span<const std::byte> bytes);
  void commit();

 private:
  [[noreturn]] void fail(int error_number) const;

  std::filesystem::path target_;
  std::filesystem::path temporary_;
  int descriptor_ = -1;
};

void write_file(const std::filesystem::path& file, std::string_view bytes);

}  // namespace trainyard
