#include "executor/run/run_folder.h"

#include <fcntl.h>
#include <sys/file.h>

#include <cerrno>
#include <cstring>
#include <system_error>

#include "core/error.h"

namespace trainyard::executor {

namespace {

namespace fs = std::filesystem;

FileDescriptor lock(const fs::path& folder) {
  FileDescriptor descriptor(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!descriptor.open()) {
    throw Error(std::strerror(errno), folder.string(), "give --output a folder that you can read and write");
  }
  if (::flock(descriptor.number(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
    throw Error("another run is at work in it", folder.string(), "choose another folder, or wait for that run's end");
  }
  return descriptor;
}

void make(const fs::path& folder) {
  std::error_code failure;
  if (fs::exists(folder, failure) && !fs::is_directory(folder, failure)) {
    throw Error("is a file, not a folder", folder.string(), "give --output a folder that is new or empty");
  }
  fs::create_directories(folder, failure);
  if (failure) {
    throw Error("can't be made: " + failure.message(), folder.string(), "give --output a folder that you can make");
  }
}

void require_run(const RunFiles& files) {
  std::error_code failure;
  if (!fs::exists(files.record(), failure)) {
    throw Error("holds no run to resume", files.folder.string(),
                "it should have a record.jsonl; --output FOLDER --resume begins one where there is none");
  }
}

bool holds_run(const RunFiles& files) {
  std::error_code unknown;
  return fs::exists(files.record(), unknown) || fs::exists(files.plan(), unknown);
}

// An old run's files and nothing else: the folder may hold notes beside them.
void remove_old_run(const RunFiles& files) {
  if (!holds_run(files)) {
    throw Error("isn't empty and holds no run", files.folder.string(), "--force replaces only an earlier run");
  }
  for (const fs::path& file : {files.plan(), files.record(), files.trace(), files.model(), files.checkpoints()}) {
    fs::remove_all(file);
  }
}

}  // namespace

RunFolder::RunFolder(const RunFiles& files, FolderUse use) {
  if (use == FolderUse::kContinue) {
    require_run(files);
  } else {
    make(files.folder);
  }
  lock_ = lock(files.folder);
  try {
    if (use == FolderUse::kContinue || fs::is_empty(files.folder)) {
      return;
    }
    if (use == FolderUse::kContinueOrBegin && holds_run(files)) {
      return;
    }
    if (use != FolderUse::kReplace) {
      throw Error("isn't empty", files.folder.string(),
                  "choose a new folder, --resume to go on with the run in it, or --force to replace it");
    }
    remove_old_run(files);
  } catch (const fs::filesystem_error& error) {
    throw Error(error.code().message(), error.path1().string(), "give --output a folder that you can write to");
  }
}

}  // namespace trainyard::executor
