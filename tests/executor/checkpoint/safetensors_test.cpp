#include <gtest/gtest.h>

#include <bit>
#include <cstring>
#include <sstream>
#include <string>
#include <vector>

#include "executor/checkpoint/safetensors_file.h"
#include "tests/support/error_of.h"
#include "tests/support/temporary_folder.h"

namespace trainyard::executor {

namespace {

std::string braced(const std::string& tensors) {
  std::string header = tensors;
  header.insert(header.begin(), '{');
  header.push_back('}');
  return header;
}

// A file with this header and so many zero bytes of data.
std::string file_of(const std::string& header, std::size_t data_bytes) {
  std::string text(8, '\0');
  const std::uint64_t length = header.size();
  std::memcpy(text.data(), &length, sizeof(length));
  return text + header + std::string(data_bytes, '\0');
}

std::string problem_of(const std::string& bytes) {
  const TemporaryFolder folder;
  const auto file = folder.write("broken.safetensors", bytes);
  const Error error = error_of([&] { SafetensorsReader{file}; });
  EXPECT_TRUE(contains(error.where(), file.string())) << error.what();
  return error.what();
}

std::string tensor(const std::string& name, const std::string& type, const std::string& shape, int begin, int end) {
  std::ostringstream text;
  text << '"' << name << R"(":{"dtype":")" << type << R"(","shape":)" << shape << R"(,"data_offsets":[)" << begin << ','
       << end << "]}";
  return text.str();
}

std::vector<float> numbers(std::int64_t from, std::int64_t count) {
  std::vector<float> values;
  for (std::int64_t i = 0; i < count; ++i) {
    values.push_back(static_cast<float>(from + i));
  }
  return values;
}

}  // namespace

// Four writers hold a quarter each of a 4 x 6 matrix; a reader takes a slice across all of them.
TEST(Safetensors, SlicesWrittenAndReadMakeTheWhole) {
  const TemporaryFolder folder;
  const auto file = folder.path() / "weights.safetensors";
  create_safetensors(file, place_back_to_back({{"vector", {3}}, {"matrix", {4, 6}}}));
  for (const IndexRange rows : {IndexRange{0, 2}, IndexRange{2, 4}}) {
    for (const IndexRange columns : {IndexRange{0, 3}, IndexRange{3, 6}}) {
      SafetensorsWriter writer(file);
      std::vector<float> values;
      for (std::int64_t row = rows.begin; row < rows.end; ++row) {
        const auto part = numbers(10 * row + columns.begin, columns.size());
        values.insert(values.end(), part.begin(), part.end());
      }
      writer.write("matrix", std::vector{rows, columns}, values);
      writer.flush();
    }
  }
  const SafetensorsReader reader(file);
  ASSERT_NE(reader.find("matrix"), nullptr);
  EXPECT_EQ(reader.find("matrix")->shape, (std::vector<std::int64_t>{4, 6}));
  std::vector<float> middle(4);
  reader.read(*reader.find("matrix"), std::vector{IndexRange{1, 3}, IndexRange{2, 4}}, middle);
  EXPECT_EQ(middle, (std::vector<float>{12, 13, 22, 23}));
  std::vector<float> row(6);
  reader.read(*reader.find("matrix"), std::vector{IndexRange{3, 4}, IndexRange{0, 6}}, row);
  EXPECT_EQ(row, numbers(30, 6));
}

// bf16 is the upper half of fp32. fp16: 1 = 0x3C00, -2 = 0xC000, 2^-24 = 0x0001, 65504 = 0x7BFF.
TEST(Safetensors, HalfPrecisionIsReadExactly) {
  const TemporaryFolder folder;
  std::string bytes = file_of(braced(tensor("h", "F16", "[4]", 0, 8) + "," + tensor("b", "BF16", "[2]", 8, 12)), 0);
  for (const int bits : {0x3C00, 0xC000, 0x0001, 0x7BFF, 0x3F80, 0xC2F7}) {
    bytes.push_back(static_cast<char>(bits & 0xFF));
    bytes.push_back(static_cast<char>(bits >> 8));
  }
  const SafetensorsReader reader(folder.write("half.safetensors", bytes));
  std::vector<float> half(4);
  reader.read(*reader.find("h"), std::vector{IndexRange{0, 4}}, half);
  EXPECT_EQ(half, (std::vector<float>{1.0F, -2.0F, 0x1p-24F, 65504.0F}));
  std::vector<float> brain(2);
  reader.read(*reader.find("b"), std::vector{IndexRange{0, 2}}, brain);
  EXPECT_EQ(brain, (std::vector<float>{1.0F, -123.5F}));
}

TEST(Safetensors, DamagedFilesAreErrorsThatNameFileAndFault) {
  EXPECT_TRUE(contains(problem_of("short"), "too short"));
  EXPECT_TRUE(contains(problem_of(std::string(8, '\xFF')), "bytes"));
  EXPECT_TRUE(contains(problem_of(file_of("{", 0)), "not JSON"));
  EXPECT_TRUE(contains(problem_of(file_of("[1]", 0)), "not a JSON object"));
  const std::string whole = braced(tensor("a", "F32", "[2]", 0, 8));
  EXPECT_TRUE(contains(problem_of(file_of(whole, 7)), "of 7 bytes"));
  EXPECT_TRUE(contains(problem_of(file_of(whole, 9)), "follow the last tensor"));
  EXPECT_TRUE(contains(problem_of(file_of(braced(tensor("a", "F32", "[3]", 0, 8)), 8)), "needs 12 bytes"));
  EXPECT_TRUE(contains(problem_of(file_of(braced(tensor("a", "Q5", "[2]", 0, 8)), 8)), "unknown dtype"));
  EXPECT_TRUE(contains(problem_of(file_of(braced(tensor("a", "F32", "[-2]", 0, 8)), 8)), "whole number"));
  EXPECT_TRUE(
      contains(problem_of(file_of(braced(tensor("a", "F32", "[4611686018427387904,4]", 0, 8)), 8)), "overflows"));
  const std::string twice = braced(tensor("a", "F32", "[1]", 0, 4) + "," + tensor("a", "F32", "[1]", 4, 8));
  EXPECT_TRUE(contains(problem_of(file_of(twice, 8)), "appears twice"));
  const std::string overlap = braced(tensor("a", "F32", "[2]", 0, 8) + "," + tensor("b", "F32", "[2]", 4, 12));
  EXPECT_TRUE(contains(problem_of(file_of(overlap, 12)), "overlaps"));
  const std::string hole = braced(tensor("a", "F32", "[1]", 0, 4) + "," + tensor("b", "F32", "[1]", 8, 12));
  EXPECT_TRUE(contains(problem_of(file_of(hole, 12)), "hole"));
  EXPECT_TRUE(contains(problem_of(file_of(R"({"a":{"dtype":"F32","shape":[]}})", 4)), "data_offsets"));
  EXPECT_TRUE(contains(problem_of(file_of(R"({"a":)" + std::string(1000, '[') + "}", 0)), "nested"));
}

}  // namespace trainyard::executor
