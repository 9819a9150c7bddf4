// Files that a command line names: none of an answer's files may replace another of it, or one that it was made from.
#pragma once

#include <string>
#include <vector>

namespace trainyard::cli {

struct FileArgument {
  std::string flag;  // "--svg"
  std::string file;  // empty where the flag isn't given
};

// Whether two paths name one file or folder; links are followed.
bool same_file(const std::string& a, const std::string& b);

// Throws Error naming both flags. Links are followed; an input that is no file (a builder's name) is passed over.
void require_separate_files(const std::vector<FileArgument>& outputs, const std::vector<FileArgument>& inputs);

}  // namespace trainyard::cli
