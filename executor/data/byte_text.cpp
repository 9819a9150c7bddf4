#include "executor/data/byte_text.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <cmath>
#include <system_error>

#include "core/error.h"

namespace trainyard::executor {

namespace {

constexpr std::size_t kHeldBackShare = 10;  // one part in ten

// Closes on leaving the scope; a mapping outlives its descriptor.
struct Descriptor {
  int number = -1;
  ~Descriptor() {
    if (number >= 0) {
      ::close(number);
    }
  }
};

}  // namespace

ByteText::Mapping::Mapping(const std::filesystem::path& file) {
  std::error_code failure;
  const auto status = std::filesystem::status(file, failure);
  if (!std::filesystem::exists(status)) {
    throw Error("no such file", file.string(), "give a text file to --data");
  }
  if (!std::filesystem::is_regular_file(status)) {
    throw Error("not a regular file", file.string(), "give a text file to --data");
  }
  const Descriptor descriptor{::open(file.c_str(), O_RDONLY | O_CLOEXEC)};
  const auto size = std::filesystem::file_size(file, failure);
  if (descriptor.number < 0 || failure) {
    throw Error("can't be read", file.string(), "check its permissions");
  }
  if (size == 0) {
    return;  // an empty mapping isn't allowed; too short is said by whoever asks for windows
  }
  void* mapped = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, descriptor.number, 0);
  if (mapped == MAP_FAILED) {
    throw Error("can't be mapped into memory", file.string(), "use a file on a local disk");
  }
  data_ = static_cast<const std::uint8_t*>(mapped);
  size_ = size;
}

ByteText::Mapping::~Mapping() {
  if (data_ != nullptr) {
    ::munmap(const_cast<std::uint8_t*>(data_), size_);
  }
}

void ByteText::drop_resident() const {
  if (!bytes_.empty()) {
    ::madvise(const_cast<std::uint8_t*>(bytes_.data()), bytes_.size(), MADV_DONTNEED);
  }
}

ByteText::ByteText(const std::filesystem::path& file, std::int64_t sequence)
    : mapping_(file), bytes_(mapping_.bytes()), training_bytes_(bytes_.size() - bytes_.size() / kHeldBackShare) {
  const auto window = static_cast<std::size_t>(sequence + 1);
  if (training_bytes_ < window || bytes_.size() - training_bytes_ < window) {
    throw Error("too short: " + std::to_string(bytes_.size()) + " bytes, of which a tenth is held back", file.string(),
                "sequences of " + std::to_string(sequence) + " tokens need at least " +
                    std::to_string(window * kHeldBackShare) + " bytes");
  }
}

double unigram_entropy(std::span<const std::uint8_t> text) {
  std::array<std::int64_t, kByteVocabulary> counts{};
  for (const std::uint8_t byte : text) {
    ++counts[byte];
  }
  double entropy = 0;
  for (const std::int64_t count : counts) {
    if (count > 0) {
      const double p = static_cast<double>(count) / static_cast<double>(text.size());
      entropy -= p * std::log(p);
    }
  }
  return entropy;
}

}  // namespace trainyard::executor
