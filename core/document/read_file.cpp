#include "core/document/read_file.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

#include "core/error.h"
#include "core/units/format_quantity.h"

namespace trainyard {

std::string read_text_file(const std::filesystem::path& file, ByteCount limit) {
  struct Close {
    void operator()(std::FILE* open) const { std::fclose(open); }
  };
  std::error_code ignored;
  if (std::filesystem::is_directory(file, ignored)) {
    throw Error("is a folder, not a file", file.string());
  }
  const std::unique_ptr<std::FILE, Close> open(std::fopen(file.c_str(), "rb"));
  if (!open) {
    throw Error(std::string("can't be read: ") + std::strerror(errno), file.string(), "check the path");
  }
  // Read in pieces rather than trust the size that the file system gives: pipes and /proc have none.
  std::string text;
  std::string piece(std::size_t{1} << 16, '\0');
  while (const std::size_t read = std::fread(piece.data(), 1, piece.size(), open.get())) {
    text.append(piece, 0, read);
    if (static_cast<std::int64_t>(text.size()) > limit.value()) {
      throw Error("is larger than " + format_quantity(limit), file.string(), "is this the right file?");
    }
  }
  if (std::ferror(open.get()) != 0) {
    throw Error("can't be read to its end", file.string());
  }
  return text;
}

}  // namespace trainyard
