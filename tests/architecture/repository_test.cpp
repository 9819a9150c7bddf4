// The include rules, on this repository.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "tests/architecture/include_rules.h"

namespace trainyard {
namespace {

namespace fs = std::filesystem;

bool is_source(const fs::path& file) {
  constexpr std::array<std::string_view, 7> kEndings = {".h", ".hpp", ".cuh", ".c", ".cc", ".cpp", ".cu"};
  return std::find(kEndings.begin(), kEndings.end(), file.extension().string()) != kEndings.end();
}

std::vector<fs::path> sources() {
  std::vector<fs::path> files;
  for (const std::string& folder : ruled_folders()) {
    const fs::path root = fs::path(TRAINYARD_SOURCE_DIR) / folder;
    if (!fs::exists(root)) {
      continue;  // gui comes later
    }
    for (const fs::directory_entry& entry : fs::recursive_directory_iterator(root)) {
      if (entry.is_regular_file() && is_source(entry.path())) {
        files.push_back(entry.path());
      }
    }
  }
  return files;
}

std::string read(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

TEST(Repository, EveryIncludeKeepsTheLayers) {
  int includes = 0;
  for (const fs::path& file : sources()) {
    const std::string name = fs::relative(file, TRAINYARD_SOURCE_DIR).generic_string();
    for (const Include& include : includes_of(read(file))) {
      ++includes;
      const std::optional<std::string> broken = broken_rule(name, include);
      EXPECT_FALSE(broken.has_value()) << name << ":" << include.line << ": includes " << include.path << ": "
                                       << broken.value_or("");
    }
  }
  EXPECT_GT(includes, 100) << "the sources were not found under " << TRAINYARD_SOURCE_DIR;
}

TEST(Repository, EveryIncludeOfOursExists) {
  for (const fs::path& file : sources()) {
    for (const Include& include : includes_of(read(file))) {
      if (include.quoted) {
        EXPECT_TRUE(fs::exists(fs::path(TRAINYARD_SOURCE_DIR) / include.path))
            << file << ":" << include.line << ": " << include.path;
      }
    }
  }
}

}  // namespace
}  // namespace trainyard
