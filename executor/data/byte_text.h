// ByteText: a raw text file whose bytes are the tokens (vocabulary 256). Its last tenth is held back for
// evaluation and never trained on.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

namespace trainyard::executor {

constexpr std::int64_t kByteVocabulary = 256;

class ByteText {
 public:
  // Throws Error naming the file: absent, not a regular file, unreadable, or either part shorter than one
  // window of sequence + 1 bytes.
  ByteText(const std::filesystem::path& file, std::int64_t sequence);

  // Gives back the memory that reading has brought in; it is read again from the file where needed.
  void drop_resident() const;

  std::span<const std::uint8_t> all() const { return bytes_; }
  std::span<const std::uint8_t> training() const { return bytes_.first(training_bytes_); }
  std::span<const std::uint8_t> held_back() const { return bytes_.subspan(training_bytes_); }

 private:
  // The file, mapped: text may be larger than memory.
  class Mapping {
   public:
    explicit Mapping(const std::filesystem::path& file);
    ~Mapping();
    Mapping(const Mapping&) = delete;
    Mapping& operator=(const Mapping&) = delete;
    std::span<const std::uint8_t> bytes() const { return {data_, size_}; }

   private:
    const std::uint8_t* data_ = nullptr;
    std::size_t size_ = 0;
  };
  Mapping mapping_;
  std::span<const std::uint8_t> bytes_;
  std::size_t training_bytes_ = 0;
};

// Entropy of the distribution of single bytes, in nats: - sum_b p_b ln p_b. A model that has learned no
// context cannot have a lower loss on this text.
double unigram_entropy(std::span<const std::uint8_t> text);

}  // namespace trainyard::executor
