#include "executor/worker/state_slice.h"

#include <algorithm>
#include <optional>

#include "core/error.h"
#include "executor/worker/parameter_table.h"

namespace trainyard::executor {

namespace {

// A bucket's elements [part.begin, part.end) fill the buffer.
struct Place {
  StateKind kind = StateKind::kParameter;
  BufferId buffer;
  IndexRange part;
};

// What of `a` lies in `b`; an empty one lies in `a` too.
IndexRange intersection(IndexRange a, IndexRange b) {
  const std::int64_t begin = std::clamp(b.begin, a.begin, a.end);
  return {begin, std::clamp(b.end, begin, a.end)};
}

// Where a bucket's state lies. A buffer that is shorter than the bucket holds the owned share.
std::vector<Place> places(const Role& role, const Bucket& bucket, IndexRange owned) {
  std::vector<Place> result;
  const auto add = [&](StateKind kind, const Buffer& buffer) {
    check(kind == StateKind::kParameter || buffer.type == DataType::kFp32, "optimizer state is fp32");
    const bool whole = buffer.elements == bucket.elements;
    check(whole || buffer.elements == owned.size(), "a buffer holds a bucket or the owned share of it");
    result.push_back({kind, buffer.id, whole ? IndexRange{0, bucket.elements} : owned});
  };
  add(StateKind::kParameter, role.buffers[bucket.parameters_buffer.at()]);
  if (const Buffer* master = find_persistent(role, BufferContent::kMaster, bucket.id)) {
    add(StateKind::kMaster, *master);
  }
  if (const Buffer* momentum = find_persistent(role, BufferContent::kMomentum, bucket.id)) {
    add(StateKind::kMomentum, *momentum);
  }
  if (const Buffer* variance = find_persistent(role, BufferContent::kVariance, bucket.id)) {
    add(StateKind::kVariance, *variance);
  }
  return result;
}

}  // namespace

const Buffer* find_persistent(const Role& role, BufferContent content, BucketId bucket) {
  for (const Buffer& buffer : role.buffers) {
    if (buffer.persistent && buffer.content == content && buffer.bucket == bucket) {
      return &buffer;
    }
  }
  return nullptr;
}

std::string StateSlice::name() const {
  switch (kind) {
    case StateKind::kParameter:
    case StateKind::kMaster:
      return parameter.name;
    case StateKind::kMomentum:
      return parameter.name + "/momentum";
    case StateKind::kVariance:
      return parameter.name + "/variance";
  }
  return "?";
}

std::vector<StateSlice> state_slices(const Program& program, Rank rank) {
  const Role& role = program.role_of(rank);
  const Coordinates coordinates = program.mesh.coordinates(rank);
  std::vector<StateSlice> slices;
  const auto index = static_cast<std::size_t>(coordinates.data);
  for (const Bucket& bucket : role.buckets) {
    const IndexRange owned{bucket.boundaries[index], bucket.boundaries[index + 1]};
    for (const Place& place : places(role, bucket, owned)) {
      for (const BucketParameter& placed : bucket.parameters) {
        const IndexRange whole{placed.offset, placed.offset + placed.elements};
        const IndexRange held = intersection(whole, place.part);
        const bool rounded = place.kind == StateKind::kParameter &&
                             role.buffers[place.buffer.at()].type != DataType::kFp32;  // its master is saved
        const bool saves = !rounded && (!placed.tensor_replicated || coordinates.tensor == 0) &&
                           !is_copy(placed.parameter, coordinates);
        const IndexRange saved = saves ? intersection(held, owned) : IndexRange{held.begin, held.begin};
        if (held.size() > 0) {
          slices.push_back({.kind = place.kind,
                            .parameter = placed.parameter,
                            .ranges = local_ranges(placed.shard, program.mesh, coordinates),
                            .held = {held.begin - placed.offset, held.end - placed.offset},
                            .saved = {saved.begin - placed.offset, saved.end - placed.offset},
                            .buffer = place.buffer,
                            .offset = held.begin - place.part.begin});
        }
      }
    }
  }
  return slices;
}

}  // namespace trainyard::executor
