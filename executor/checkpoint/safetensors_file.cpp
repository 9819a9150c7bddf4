#include "executor/checkpoint/safetensors_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <system_error>
#include <utility>

#include "core/error.h"
#include "executor/device/convert.h"
#include "executor/worker/tensor_slice.h"

namespace trainyard::executor {

namespace {

static_assert(std::endian::native == std::endian::little, "safetensors data is little-endian");

[[noreturn]] void fail(const std::string& doing, const std::filesystem::path& file, int error_number) {
  throw Error(doing + ": " + std::generic_category().message(error_number), file.string());
}

int open_or_fail(const std::filesystem::path& file, int flags) {
  const int descriptor = ::open(file.c_str(), flags | O_CLOEXEC, 0666);
  if (descriptor < 0) {
    fail("can't be opened", file, errno);
  }
  return descriptor;
}

void write_fully(int descriptor, std::span<const std::byte> bytes, std::int64_t offset,
                 const std::filesystem::path& file) {
  while (!bytes.empty()) {
    const auto written = ::pwrite(descriptor, bytes.data(), bytes.size(), offset);
    if (written < 0 && errno != EINTR) {
      fail("can't be written", file, errno);
    }
    bytes = bytes.subspan(static_cast<std::size_t>(std::max<ssize_t>(written, 0)));
    offset += std::max<ssize_t>(written, 0);
  }
}

// Of a tensor that isn't "F32".
DataType narrow_type(const StoredTensor& tensor) { return tensor.type == "F16" ? DataType::kFp16 : DataType::kBf16; }

std::int64_t slice_elements(std::span<const IndexRange> ranges) {
  std::int64_t elements = 1;
  for (const IndexRange& range : ranges) {
    elements *= range.size();
  }
  return elements;
}

}  // namespace

SafetensorsReader::SafetensorsReader(std::filesystem::path file)
    : file_(std::move(file)),
      descriptor_(open_or_fail(file_, O_RDONLY | O_NONBLOCK)) {  // a pipe would wait for a writer
  try {
    struct stat status {};
    if (::fstat(descriptor_, &status) != 0) {
      fail("can't be read", file_, errno);
    }
    if (!S_ISREG(status.st_mode)) {
      throw Error("is not a regular file", file_.string(), "give a folder saved by transformers or by trainyard");
    }
    if (status.st_size < kSafetensorsPrefix) {
      throw Error("too short to be safetensors", file_.string());
    }
    std::uint64_t header_bytes = 0;
    read_at(0, std::as_writable_bytes(std::span(&header_bytes, 1)));
    if (header_bytes > static_cast<std::uint64_t>(kSafetensorsHeaderLimit) ||
        static_cast<std::int64_t>(header_bytes) > status.st_size - kSafetensorsPrefix) {
      throw Error("its header would have " + std::to_string(header_bytes) + " bytes", file_.string(),
                  "the file is cut short or is not safetensors");
    }
    std::string json(header_bytes, '\0');
    read_at(kSafetensorsPrefix, std::as_writable_bytes(std::span(json)));
    data_begin_ = kSafetensorsPrefix + static_cast<std::int64_t>(header_bytes);
    tensors_ = parse_safetensors_header(json, status.st_size - data_begin_, file_.string());
    metadata_ = parse_safetensors_metadata(json, file_.string());
  } catch (...) {
    ::close(descriptor_);
    throw;
  }
}

SafetensorsReader::~SafetensorsReader() {
  if (descriptor_ >= 0) {
    ::close(descriptor_);
  }
}

SafetensorsReader::SafetensorsReader(SafetensorsReader&& other) noexcept
    : file_(std::move(other.file_)),
      descriptor_(std::exchange(other.descriptor_, -1)),
      data_begin_(other.data_begin_),
      tensors_(std::move(other.tensors_)),
      metadata_(std::move(other.metadata_)) {}

const StoredTensor* SafetensorsReader::find(const std::string& name) const {
  const auto found =
      std::find_if(tensors_.begin(), tensors_.end(), [&](const StoredTensor& tensor) { return tensor.name == name; });
  return found == tensors_.end() ? nullptr : &*found;
}

void SafetensorsReader::read_at(std::int64_t offset, std::span<std::byte> bytes) const {
  while (!bytes.empty()) {
    const auto count = ::pread(descriptor_, bytes.data(), bytes.size(), offset);
    if (count == 0) {
      throw Error("ends too early", file_.string(), "another program is writing it, or it is cut short");
    }
    if (count < 0 && errno != EINTR) {
      fail("can't be read", file_, errno);
    }
    bytes = bytes.subspan(static_cast<std::size_t>(std::max<ssize_t>(count, 0)));
    offset += std::max<ssize_t>(count, 0);
  }
}

void SafetensorsReader::read(const StoredTensor& tensor, std::span<const IndexRange> ranges, std::span<float> values,
                             int parts) const {
  check(slice_elements(ranges) == static_cast<std::int64_t>(values.size()), "a slice fills its values");
  const bool wide = tensor.type == "F32";
  if (!wide && tensor.type != "BF16" && tensor.type != "F16") {
    throw Error("holds " + tensor.type + " values", file_.string() + ": tensor '" + tensor.name + "'",
                "weights must be F32, BF16 or F16");
  }
  std::vector<std::byte> raw;
  const auto read_run = [&](std::int64_t whole, std::int64_t slice, std::int64_t elements) {
    const std::span<float> run = values.subspan(static_cast<std::size_t>(slice), static_cast<std::size_t>(elements));
    const std::int64_t element = wide ? 4 : 2;
    const std::int64_t offset = data_begin_ + tensor.begin + whole * element;
    if (wide) {
      read_at(offset, std::as_writable_bytes(run));
      return;
    }
    raw.resize(static_cast<std::size_t>(elements * element));
    read_at(offset, raw);
    to_floats(ConstValues(raw.data(), narrow_type(tensor)), run.data(), elements);
  };
  for_each_run(tensor.shape, ranges, read_run, parts);
}

void create_safetensors(const std::filesystem::path& file, const std::vector<StoredTensor>& tensors) {
  const int descriptor = open_or_fail(file, O_WRONLY | O_CREAT | O_TRUNC);
  try {
    const std::string header = safetensors_header(tensors);
    const std::int64_t data = tensors.empty() ? 0 : tensors.back().end;
    write_fully(descriptor, std::as_bytes(std::span(header)), 0, file);
    // Reserves the space, so that a full disk shows here and not in the middle of a slice.
    const int failure = data == 0 ? 0 : ::posix_fallocate(descriptor, static_cast<off_t>(header.size()), data);
    if (failure != 0) {
      fail("no room for " + std::to_string(data) + " bytes", file, failure);
    }
  } catch (...) {
    ::close(descriptor);
    throw;
  }
  ::close(descriptor);
}

SafetensorsWriter::SafetensorsWriter(std::filesystem::path file) : file_(std::move(file)) {
  tensors_ = SafetensorsReader(file_).tensors();
  data_begin_ =
      static_cast<std::int64_t>(std::filesystem::file_size(file_)) - (tensors_.empty() ? 0 : tensors_.back().end);
  descriptor_ = open_or_fail(file_, O_WRONLY);
}

SafetensorsWriter::~SafetensorsWriter() { ::close(descriptor_); }

void SafetensorsWriter::write(const std::string& name, std::span<const IndexRange> ranges,
                              std::span<const float> values, int parts) {
  const auto tensor =
      std::find_if(tensors_.begin(), tensors_.end(), [&](const StoredTensor& stored) { return stored.name == name; });
  check(tensor != tensors_.end() && (tensor->type == "F32" || tensor->type == "BF16" || tensor->type == "F16"),
        "a tensor is written to a file made for it");
  const bool wide = tensor->type == "F32";
  std::vector<std::byte> narrowed;
  check(slice_elements(ranges) == static_cast<std::int64_t>(values.size()), "a slice has all its values");
  const auto write_run = [&](std::int64_t whole, std::int64_t slice, std::int64_t elements) {
    const auto run = values.subspan(static_cast<std::size_t>(slice), static_cast<std::size_t>(elements));
    const std::int64_t at = data_begin_ + tensor->begin + whole * (wide ? 4 : 2);
    if (wide) {
      write_fully(descriptor_, std::as_bytes(run), at, file_);
      return;
    }
    narrowed.resize(2 * run.size());
    from_floats(run.data(), Values(narrowed.data(), narrow_type(*tensor)), elements);
    write_fully(descriptor_, narrowed, at, file_);
  };
  for_each_run(tensor->shape, ranges, write_run, parts);
}

void SafetensorsWriter::flush() {
  if (::fsync(descriptor_) != 0) {
    fail("can't be flushed to the disk", file_, errno);
  }
}

std::vector<StoredTensor> place_back_to_back(const std::vector<NamedShape>& tensors, DataType type) {
  check(type == DataType::kFp32 || type == DataType::kBf16 || type == DataType::kFp16,
        "files are written in F32, BF16 or F16");
  std::vector<StoredTensor> placed;
  std::int64_t end = 0;
  for (const NamedShape& tensor : tensors) {
    std::int64_t bytes = size_of(type);
    for (const std::int64_t size : tensor.shape) {
      bytes *= size;
    }
    placed.push_back({.name = tensor.name,
                      .type = type == DataType::kBf16   ? "BF16"
                              : type == DataType::kFp16 ? "F16"
                                                        : "F32",
                      .shape = tensor.shape,
                      .begin = end,
                      .end = end + bytes});
    end += bytes;
  }
  return placed;
}

}  // namespace trainyard::executor
