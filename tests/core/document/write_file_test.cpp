#include "core/document/write_file.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>

#include "core/document/read_file.h"
#include "tests/support/child.h"
#include "tests/support/error_of.h"
#include "tests/support/temporary_folder.h"

namespace trainyard {
namespace {

int files_in(const std::filesystem::path& folder) {
  return static_cast<int>(std::distance(std::filesystem::directory_iterator(folder), {}));
}

// Lets this process write no file beyond `bytes`: the write fails half-way, as on a full disk.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes) {
    handler_ = ::signal(SIGXFSZ, SIG_IGN);
    ::getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit limit{bytes, before_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FileSizeLimit() {
    ::setrlimit(RLIMIT_FSIZE, &before_);
    ::signal(SIGXFSZ, handler_);
  }

 private:
  rlimit before_{};
  void (*handler_)(int) = nullptr;
};

TEST(WriteFile, ReplacesTheFileAndLeavesNothingElse) {
  const TemporaryFolder folder;
  const auto file = folder.write("a.json", "old");
  write_file(file, "new");
  EXPECT_EQ(read_text_file(file), "new");
  EXPECT_EQ(files_in(folder.path()), 1);
}

TEST(WriteFile, KeepsTheOldFileWhenTheDiskFillsUpHalfWay) {
  const TemporaryFolder folder;
  const auto file = folder.write("a.json", "old");
  const Error error = error_of([&] {
    const FileSizeLimit limit(4096);
    write_file(file, std::string(10000, 'x'));
  });
  EXPECT_EQ(error.where(), file.string());
  EXPECT_TRUE(contains(error.problem(), "can't be written")) << error.what();
  EXPECT_EQ(read_text_file(file), "old");
  EXPECT_EQ(files_in(folder.path()), 1) << "the temporary is removed";
}

TEST(WriteFile, NamesAMissingFolder) {
  const TemporaryFolder folder;
  const Error error = error_of([&] { write_file(folder.path() / "none" / "a.json", "x"); });
  EXPECT_EQ(error.where(), (folder.path() / "none" / "a.json").string());
  EXPECT_EQ(error.hint(), "create the folder first");
}

TEST(WriteFile, RemovesTheTemporaryWhenTheTargetIsAFolder) {
  const TemporaryFolder folder;
  std::filesystem::create_directory(folder.path() / "a.json");
  EXPECT_THROW(write_file(folder.path() / "a.json", "x"), Error);
  EXPECT_EQ(files_in(folder.path()), 1);
}

TEST(WriteFile, NamesAFolderWithoutPermission) {
  if (::geteuid() == 0) {
    GTEST_SKIP() << "root may write anywhere";
  }
  const TemporaryFolder folder;
  std::filesystem::permissions(folder.path(), std::filesystem::perms::owner_read | std::filesystem::perms::owner_exec);
  EXPECT_EQ(error_of([&] { write_file(folder.path() / "a.json", "x"); }).hint(), "write to a folder that you own");
  std::filesystem::permissions(folder.path(), std::filesystem::perms::owner_all);
}

TEST(AtomicFile, LeavesTheTargetAloneWithoutCommit) {
  const TemporaryFolder folder;
  const auto file = folder.write("a.json", "old");
  {
    AtomicFile out(file);
    out.write("new");
    EXPECT_EQ(read_text_file(file), "old");
  }
  EXPECT_EQ(read_text_file(file), "old");
  EXPECT_EQ(files_in(folder.path()), 1);
}

// A rename onto a pipe would leave a file in its place, and onto /dev/null for every process of the machine.
TEST(AtomicFile, NeverReplacesWhatIsNoFile) {
  const TemporaryFolder folder;
  const auto pipe = folder.path() / "pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  std::filesystem::create_symlink(pipe, folder.path() / "link");
  for (const auto& target : {pipe, folder.path() / "link"}) {
    const Error error = error_of([&] { write_file(target, "x"); });
    EXPECT_EQ(error.where(), pipe.string());
    EXPECT_TRUE(contains(error.problem(), "is a device, a pipe or a socket")) << error.what();
  }
  EXPECT_TRUE(std::filesystem::is_fifo(pipe));
  EXPECT_EQ(files_in(folder.path()), 2);
}

// Before anything is computed: calibrating takes minutes.
TEST(AtomicFile, RefusesAFolderAndAMissingNameAtOnce) {
  const TemporaryFolder folder;
  EXPECT_TRUE(contains(error_of([&] { const AtomicFile out(folder.path()); }).problem(), "is a folder"));
  EXPECT_TRUE(contains(error_of([] { const AtomicFile out(""); }).problem(), "not the name of a file"));
  EXPECT_EQ(files_in(folder.path()), 0);
}

TEST(AtomicFile, WritesThroughALinkAndEndsAtALinkToItself) {
  const TemporaryFolder folder;
  const auto file = folder.write("a.json", "old");
  std::filesystem::create_symlink("a.json", folder.path() / "link");
  std::filesystem::create_symlink("new.json", folder.path() / "dangling");
  std::filesystem::create_symlink("loop", folder.path() / "loop");
  write_file(folder.path() / "link", "new");
  write_file(folder.path() / "dangling", "made");
  EXPECT_TRUE(std::filesystem::is_symlink(folder.path() / "link"));
  EXPECT_EQ(read_text_file(file), "new");
  EXPECT_EQ(read_text_file(folder.path() / "new.json"), "made");
  EXPECT_TRUE(contains(error_of([&] { write_file(folder.path() / "loop", "x"); }).problem(), "can't be written"));
}

TEST(AtomicFile, LeavesNothingBehindWhenItsProcessIsKilled) {
  const TemporaryFolder folder;
  const auto file = folder.write("a.json", "old");
  const pid_t forked = ::fork();
  if (forked == 0) {
    AtomicFile out(file);
    out.write("new");
    ::raise(SIGKILL);
  }
  ASSERT_TRUE(WIFSIGNALED(Child(forked).wait()));
  EXPECT_EQ(read_text_file(file), "old");
  EXPECT_EQ(files_in(folder.path()), 1) << "needs a file system with O_TMPFILE (ext4, xfs, btrfs, tmpfs)";
}

}  // namespace
}  // namespace trainyard
