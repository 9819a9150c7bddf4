// Files written whole or not at all: a reader sees the old file or the new one, also after a crash.
//
// The bytes go to a temporary in the same folder, which is flushed to the disk and renamed over the target;
// then the folder is flushed. Whatever fails (no space, no permission) is an Error that names the file, and
// the temporary is removed. Where the file system can, the temporary has no name until it is whole, so that a
// killed process leaves nothing behind (open(2), O_TMPFILE).
//
// A link is followed and stays a link. Only a file is ever replaced: a rename would turn a device, a pipe or
// a socket into a file (/dev/null for the whole machine, to a user who may).
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
  void name_temporary();

  std::filesystem::path target_;
  std::filesystem::path temporary_;  // empty while it has no name
  int descriptor_ = -1;
};

void write_file(const std::filesystem::path& file, std::string_view bytes);

}  // namespace trainyard
