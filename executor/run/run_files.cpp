#include "executor/run/run_files.h"

#include <system_error>
#include <utility>

#include "core/error.h"
#include "executor/checkpoint/checkpoint_folder.h"

namespace trainyard::executor {

std::filesystem::path RunFiles::rank_trace(Rank rank) const {
  return folder / ("trace-rank" + std::to_string(rank.value()) + ".json");
}

std::filesystem::path RunFiles::checkpoint(std::int64_t steps) const { return checkpoint_path(checkpoints(), steps); }

namespace {
void drop_unfinished_line(const std::filesystem::path& file) {
  std::ifstream stream(file, std::ios::binary);
  if (!stream) {
    return;  // not there yet
  }
  std::uintmax_t whole = 0;
  for (std::string line; std::getline(stream, line) && !stream.eof();) {
    whole += line.size() + 1;
  }
  std::filesystem::resize_file(file, whole);
}
}  // namespace

LineFile::LineFile(std::filesystem::path file) : file_(std::move(file)) {
  drop_unfinished_line(file_);
  stream_.open(file_, std::ios::app);
  if (!stream_) {
    throw Error("can't be written", file_.string(), "check the folder's permissions");
  }
}

void LineFile::append(const std::string& line) {
  const std::uintmax_t before = std::filesystem::file_size(file_);
  stream_ << line << std::flush;
  if (!stream_) {
    stream_.close();
    stream_.clear();
    std::error_code ignored;
    std::filesystem::resize_file(file_, before, ignored);
    stream_.open(file_, std::ios::app);
    throw Error("can't be written", file_.string(), "is the disk full?");
  }
}

}  // namespace trainyard::executor
