#include "core/document/write_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

#include "core/error.h"

namespace trainyard {

namespace {

std::filesystem::path folder_of(const std::filesystem::path& file) {
  return file.has_parent_path() ? file.parent_path() : std::filesystem::path(".");
}

std::string hint_for(int error_number) {
  switch (error_number) {
    case ENOSPC:
    case EDQUOT:
      return "free some space or write to another disk";
    case EACCES:
    case EPERM:
    case EROFS:
      return "write to a folder that you own";
    case ENOENT:
    case ENOTDIR:
      return "create the folder first";
    default:
      return {};
  }
}

// The file that a chain of links ends in, there or not.
std::filesystem::path behind_links(std::filesystem::path file) {
  constexpr int kMostLinks = 40;  // as the kernel
  std::error_code failure;
  for (int link = 0; std::filesystem::is_symlink(file, failure); ++link) {
    if (link == kMostLinks) {
      throw Error("can't be written: " + std::string(std::strerror(ELOOP)), file.string(), "remove the link");
    }
    file = folder_of(file) / std::filesystem::read_symlink(file, failure);
  }
  return file;
}

void require_file_or_nothing(const std::filesystem::path& target) {
  using std::filesystem::file_type;
  std::error_code ignored;  // what can't be looked at can't be opened either
  const file_type type = std::filesystem::status(target, ignored).type();
  if (type == file_type::directory) {
    throw Error("can't be written: is a folder", target.string(), "give the name of a file in it");
  }
  if (target.empty() || !target.has_filename()) {
    throw Error("can't be written: not the name of a file", target.string(), "give a file's name");
  }
  if (type == file_type::block || type == file_type::character || type == file_type::fifo ||
      type == file_type::socket) {
    throw Error("can't be written: is a device, a pipe or a socket", target.string(), "give a file's name");
  }
}

}  // namespace

AtomicFile::AtomicFile(std::filesystem::path target) : target_(behind_links(std::move(target))) {
  require_file_or_nothing(target_);
  descriptor_ = ::open(folder_of(target_).c_str(), O_WRONLY | O_TMPFILE | O_CLOEXEC, 0666);
  if (descriptor_ < 0) {
    name_temporary();  // not every file system knows files without names
  }
}

AtomicFile::~AtomicFile() {
  if (descriptor_ >= 0) {
    ::close(descriptor_);
    if (!temporary_.empty()) {
      ::unlink(temporary_.c_str());
    }
  }
}

// Gives the open temporary its name, or makes one that has a name from the start.
void AtomicFile::name_temporary() {
  const std::string unnamed = "/proc/self/fd/" + std::to_string(descriptor_);
  // The process id keeps processes apart, the attempt two threads of one process.
  for (int attempt = 0;; ++attempt) {
    std::filesystem::path name = target_;
    name += ".tmp-" + std::to_string(::getpid()) + "-" + std::to_string(attempt);
    const int made = descriptor_ < 0 ? ::open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666)
                                     : ::linkat(AT_FDCWD, unnamed.c_str(), AT_FDCWD, name.c_str(), AT_SYMLINK_FOLLOW);
    if (made >= 0) {
      temporary_ = std::move(name);
      descriptor_ = descriptor_ < 0 ? made : descriptor_;
      return;
    }
    if (errno != EEXIST) {
      fail(errno);
    }
  }
}

void AtomicFile::fail(int error_number) const {
  throw Error(std::string("can't be written: ") + std::strerror(error_number), target_.string(),
              hint_for(error_number));
}

void AtomicFile::write(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(descriptor_, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) {
      continue;
    }
    if (written < 0) {
      fail(errno);
    }
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
}

void AtomicFile::write(std::span<const std::byte> bytes) {
  write(std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
}

void AtomicFile::commit() {
  if (::fsync(descriptor_) != 0) {
    fail(errno);
  }
  if (temporary_.empty()) {
    name_temporary();
  }
  if (::rename(temporary_.c_str(), target_.c_str()) != 0) {
    fail(errno);
  }
  // From here on the temporary no longer exists. Network file systems report a full disk at close.
  const int closed = ::close(std::exchange(descriptor_, -1));
  if (closed != 0 && errno != EINTR) {
    fail(errno);
  }
  const int folder = ::open(folder_of(target_).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0) {
    return;  // a folder we may write to but not read: the rename stands, only its flush is left to the system
  }
  const int flushed = ::fsync(folder);
  const int error_number = errno;
  ::close(folder);
  // Some file systems can't flush a folder; they say so with EINVAL.
  if (flushed != 0 && error_number != EINVAL) {
    fail(error_number);
  }
}

void write_file(const std::filesystem::path& file, std::string_view bytes) {
  AtomicFile out(file);
  out.write(bytes);
  out.commit();
}

}  // namespace trainyard
