#include "core/document/read_file.h"

#include <gtest/gtest.h>

#include "tests/support/error_of.h"
#include "tests/support/temporary_folder.h"

namespace trainyard {
namespace {

TEST(ReadTextFile, GivesTheWholeFileUpToTheLimit) {
  const TemporaryFolder folder;
  const std::string text(100000, 'x');
  const auto file = folder.write("a.txt", text);
  EXPECT_EQ(read_text_file(file, ByteCount(100000)), text);
  const Error error = error_of([&] { read_text_file(file, ByteCount(99999)); });
  EXPECT_EQ(error.where(), file.string());
  EXPECT_TRUE(contains(error.problem(), "larger than 97.7 KiB")) << error.what();  // 99999 / 1024 = 97.66
}

TEST(ReadTextFile, StopsAtTheLimitOfAFileWithoutEnd) {
  EXPECT_TRUE(contains(error_of([] { read_text_file("/dev/zero", ByteCount(1 << 20)); }).problem(), "larger than"));
}

TEST(ReadTextFile, NamesWhatIsMissingOrNoFile) {
  const TemporaryFolder folder;
  EXPECT_TRUE(contains(error_of([&] { read_text_file(folder.path() / "none"); }).problem(), "No such file"));
  EXPECT_TRUE(contains(error_of([&] { read_text_file(folder.path()); }).problem(), "folder"));
}

}  // namespace
}  // namespace trainyard
