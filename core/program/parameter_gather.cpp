#include "core/program/parameter_gather.h"

#include <algorithm>

namespace trainyard {

void ParameterGather::begin_pass(const Place& place, const std::vector<const Bucket*>& order) {
  place_ = place;
  order_.clear();
  for (const Bucket* bucket : order) {
    if (stage_.gathers_parameters(*bucket) && (order_.empty() || order_.back() != bucket)) {
      order_.push_back(bucket);
    }
  }
  first_held_ = 0;
  next_ = 0;
}

void ParameterGather::use(const std::vector<const Bucket*>& unit) {
  std::optional<std::size_t> first;
  std::size_t last = 0;
  for (const Bucket* bucket : unit) {
    const auto found = std::find(order_.begin() + static_cast<std::ptrdiff_t>(first_held_), order_.end(), bucket);
    if (found != order_.end()) {
      const auto position = static_cast<std::size_t>(found - order_.begin());
      first = std::min(first.value_or(position), position);
      last = std::max(last, position);
    }
  }
  if (first) {
    free_before(*first);
    gather(end_of_unit(std::min(last + 1, order_.size() - 1)));
  }
}

// The last bucket of those that the same layer uses.
std::size_t ParameterGather::end_of_unit(std::size_t position) const {
  const auto layer = [this](std::size_t at) { return order_[at]->parameters.front().parameter.layer; };
  while (layer(position) && position + 1 < order_.size() && layer(position + 1) == layer(position)) {
    ++position;
  }
  return position;
}

void ParameterGather::end_pass() { free_before(order_.size()); }

void ParameterGather::gather(std::size_t position) {
  for (; next_ <= position; ++next_) {
    const Bucket& bucket = *order_[next_];
    if (stage_.gathered(bucket)) {
      continue;  // held since an earlier place of it
    }
    const BufferId whole = stage_.build.transient(BufferContent::kParameters, MemoryCause::kGathered, bucket.elements,
                                                  stage_.layout.parameter_type);
    const auto algorithm =
        choose_algorithm(CommunicationKind::kAllGather, bucket.elements * size_of(stage_.layout.parameter_type),
                         shard_ranks(stage_.layout, bucket), stage_.layout.strict_reduction);
    const auto index =
        static_cast<int>(static_cast<std::size_t>(stage_.key.data_index) % (bucket.boundaries.size() - 1));
    stage_.build.add({.kind = InstructionKind::kGather,
                      .stream = Stream::kData,
                      .microbatch = place_.microbatch,
                      .chunk = place_.chunk,
                      .bucket = bucket.id,
                      .reads = {bucket.parameters_buffer},
                      .writes = {whole},
                      .communication = make_collective(
                          CommunicationKind::kAllGather, algorithm, group_id(shard_group_kind(stage_.layout, bucket)),
                          bucket.boundaries, index, stage_.layout.parameter_type, bucket.id)});
    stage_.set_gathered(bucket, whole);
  }
}

// Among what is held from here on.
bool ParameterGather::comes_again(const Bucket& bucket, std::size_t position) const {
  const auto place = [this](std::size_t at) { return order_.begin() + static_cast<std::ptrdiff_t>(at); };
  const auto from = place(std::min(position, next_));
  return std::find(from, place(next_), &bucket) != place(next_);
}

void ParameterGather::free_before(std::size_t position) {
  for (; first_held_ < std::min(position, next_); ++first_held_) {
    const Bucket& bucket = *order_[first_held_];
    if (!stage_.gathered(bucket) || comes_again(bucket, position)) {
      continue;
    }
    stage_.build.add({.kind = InstructionKind::kFree,
                      .microbatch = place_.microbatch,
                      .chunk = place_.chunk,
                      .bucket = bucket.id,
                      .reads = {*stage_.gathered(bucket)}});
    stage_.set_gathered(bucket, std::nullopt);
  }
}

}  // namespace trainyard
