#include "cli/file_arguments.h"

#include <filesystem>
#include <system_error>

#include "core/error.h"

namespace trainyard::cli {

namespace {

std::filesystem::path real_path(const std::string& file) {
  std::error_code ignored;
  const std::filesystem::path path =
      std::filesystem::weakly_canonical(std::filesystem::absolute(file, ignored), ignored);
  return path.empty() ? std::filesystem::path(file) : path;
}

}  // namespace

bool same_file(const std::string& a, const std::string& b) {
  std::error_code unknown;
  return !a.empty() && !b.empty() && (real_path(a) == real_path(b) || std::filesystem::equivalent(a, b, unknown));
}

void require_separate_files(const std::vector<FileArgument>& outputs, const std::vector<FileArgument>& inputs) {
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const FileArgument& output = outputs[i];
    for (std::size_t j = 0; j < i; ++j) {
      if (same_file(output.file, outputs[j].file)) {
        throw Error("the same file as " + outputs[j].flag + ": " + output.file, output.flag,
                    "a file of its own for each");
      }
    }
    for (const FileArgument& input : inputs) {
      std::error_code unknown;
      if (std::filesystem::is_regular_file(input.file, unknown) && same_file(output.file, input.file)) {
        throw Error("would replace " + input.flag + ": " + output.file, output.flag, "another name for the output");
      }
    }
  }
}

}  // namespace trainyard::cli
