#include "executor/data/byte_text.h"

#include <array>
#include <cmath>
#include <fstream>
#include <system_error>

#include "core/error.h"

namespace trainyard::executor {

namespace {

constexpr std::size_t kHeldBackShare = 10;  // one part in ten

std::vector<std::uint8_t> read_all(const std::filesystem::path& file) {
  std::error_code failure;
  const auto status = std::filesystem::status(file, failure);
  if (!std::filesystem::exists(status)) {
    throw Error("no such file", file.string(), "give a text file to --data");
  }
  if (!std::filesystem::is_regular_file(status)) {
    throw Error("not a regular file", file.string(), "give a text file to --data");
  }
  const auto size = std::filesystem::file_size(file, failure);
  std::ifstream stream(file, std::ios::binary);
  std::vector<std::uint8_t> bytes(failure ? 0 : size);
  if (failure || !stream || !stream.read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(size))) {
    throw Error("can't be read", file.string(), "check its permissions");
  }
  return bytes;
}

}  // namespace

ByteText::ByteText(const std::filesystem::path& file, std::int64_t sequence)
    : storage_(read_all(file)), bytes_(storage_), training_bytes_(storage_.size() - storage_.size() / kHeldBackShare) {
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
