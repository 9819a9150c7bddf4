#include "executor/checkpoint/shard_file.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "core/document/content_hash.h"
#include "core/document/json_document.h"
#include "core/document/write_file.h"
#include "core/error.h"

namespace trainyard::executor {

namespace {

using nlohmann::ordered_json;

constexpr const char* kSlices = "slices";
constexpr const char* kHint = "the file is damaged or is no part of a checkpoint";

ordered_json pair(IndexRange range) { return {range.begin, range.end}; }

ordered_json slice_json(const StateSlice& slice) {
  ordered_json ranges = ordered_json::array();
  for (const IndexRange& range : slice.ranges) {
    ranges.push_back(pair(range));
  }
  return {{"shape", slice.parameter.shape}, {"ranges", ranges}, {"flat", pair(slice.saved)}};
}

std::string header(const Snapshot& snapshot) {
  std::vector<NamedShape> shapes;
  ordered_json slices = ordered_json::object();
  for (const StateSlice& slice : snapshot.slices) {
    shapes.push_back({slice.name(), {slice.saved.size()}});
    slices[slice.name()] = slice_json(slice);
  }
  return safetensors_header(place_back_to_back(shapes), {{kSlices, slices.dump()}});
}

// Of two numbers, the first not above the second.
IndexRange read_range(const std::vector<double>& numbers, const std::string& where) {
  const bool ordered = numbers.size() == 2 && numbers[0] >= 0 && numbers[0] <= numbers[1];
  if (!ordered) {
    throw Error("a range is not two numbers in order", where, kHint);
  }
  return {static_cast<std::int64_t>(numbers[0]), static_cast<std::int64_t>(numbers[1])};
}

}  // namespace

CheckpointPart write_shard(const Snapshot& snapshot, const std::filesystem::path& file) {
  constexpr std::size_t kPiece = std::size_t{4} << 20;  // hashed while the cache holds it
  AtomicFile out(file);
  ContentHasher hasher;
  const std::string head = header(snapshot);
  hasher.add(head);
  out.write(head);
  std::span<const std::byte> rest = std::as_bytes(std::span(snapshot.values));
  while (!rest.empty()) {
    const auto piece = rest.first(std::min(kPiece, rest.size()));
    hasher.add(piece);
    out.write(piece);
    rest = rest.subspan(piece.size());
  }
  out.commit();
  return {.file = file.filename().string(),
          .bytes = ByteCount(static_cast<std::int64_t>(head.size() + snapshot.values.size() * sizeof(float))),
          .checksum = hasher.hash()};
}

ShardReader::ShardReader(std::filesystem::path file) : tensors_(std::move(file)) { read_slices(); }

void ShardReader::read_slices() {
  const std::string where = tensors_.file().string();
  const auto found = tensors_.metadata().find(kSlices);
  if (found == tensors_.metadata().end()) {
    throw Error("has no slices in its header", where, kHint);
  }
  ObjectReader slices = parse_json_object(found->second, where + ": slices");
  for (const StoredTensor& tensor : tensors_.tensors()) {
    ObjectReader slice = slices.object(tensor.name);
    Part part;
    slice.integers("shape");
    for (const std::vector<double>& range : slice.number_rows("ranges")) {
      part.ranges.push_back(read_range(range, where));
    }
    part.flat = read_range(slice.numbers("flat"), where);
    slice.finish();
    if (tensor.type != "F32" || tensor.shape != std::vector{part.flat.size()}) {
      throw Error("'" + tensor.name + "' is not the slice it says", where, kHint);
    }
    parts_[tensor.name] = std::move(part);
  }
  slices.finish();
}

std::int64_t ShardReader::read(const StateSlice& slice, IndexRange wanted, std::span<float> values) const {
  const std::string name = slice.name();
  const auto found = parts_.find(name);
  if (found == parts_.end() || found->second.ranges != slice.ranges) {
    return 0;
  }
  const IndexRange flat = found->second.flat;
  const std::int64_t begin = std::max(flat.begin, wanted.begin);
  const std::int64_t end = std::min(flat.end, wanted.end);
  if (begin >= end) {
    return 0;
  }
  const IndexRange stored{begin - flat.begin, end - flat.begin};
  tensors_.read(*tensors_.find(name), std::span(&stored, 1),
                values.subspan(static_cast<std::size_t>(begin - wanted.begin), static_cast<std::size_t>(end - begin)));
  return end - begin;
}

}  // namespace trainyard::executor
