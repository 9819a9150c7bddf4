// Reading and filling safetensors files by slices, so that each rank touches only what it holds.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "core/layout/shard_spec.h"
#include "core/program/data_type.h"
#include "executor/checkpoint/safetensors_header.h"

namespace trainyard::executor {

class SafetensorsReader {
 public:
  // Reads and checks the header. Throws Error naming the file.
  explicit SafetensorsReader(std::filesystem::path file);
  ~SafetensorsReader();
  SafetensorsReader(SafetensorsReader&& other) noexcept;
  SafetensorsReader& operator=(SafetensorsReader&&) = delete;

  const std::filesystem::path& file() const { return file_; }
  const std::vector<StoredTensor>& tensors() const { return tensors_; }
  const SafetensorsMetadata& metadata() const { return metadata_; }
  const StoredTensor* find(const std::string& name) const;

  // The row-major slice `ranges` of a tensor of F32, F16 or BF16, as floats (exact). Other types: Error. parts: see
  // for_each_run().
  void read(const StoredTensor& tensor, std::span<const IndexRange> ranges, std::span<float> values,
            int parts = 1) const;

 private:
  void read_at(std::int64_t offset, std::span<std::byte> bytes) const;

  std::filesystem::path file_;
  int descriptor_ = -1;
  std::int64_t data_begin_ = 0;
  std::vector<StoredTensor> tensors_;
  SafetensorsMetadata metadata_;
};

// A file of F32, BF16 or F16 tensors that several processes fill: one creates it at full length, all write their
// slices. Errors (no space, no permission) name the file.
void create_safetensors(const std::filesystem::path& file, const std::vector<StoredTensor>& tensors);

class SafetensorsWriter {
 public:
  explicit SafetensorsWriter(std::filesystem::path file);
  ~SafetensorsWriter();
  SafetensorsWriter(const SafetensorsWriter&) = delete;
  SafetensorsWriter& operator=(const SafetensorsWriter&) = delete;

  // Rounded to nearest where the file holds BF16.
  void write(const std::string& name, std::span<const IndexRange> ranges, std::span<const float> values, int parts = 1);
  void flush();  // to the disk

 private:
  std::filesystem::path file_;
  int descriptor_ = -1;
  std::int64_t data_begin_ = 0;
  std::vector<StoredTensor> tensors_;
};

// Tensors of one type with these names and shapes, back to back in this order.
struct NamedShape {
  std::string name;
  std::vector<std::int64_t> shape;
};
std::vector<StoredTensor> place_back_to_back(const std::vector<NamedShape>& tensors, DataType type = DataType::kFp32);

}  // namespace trainyard::executor
