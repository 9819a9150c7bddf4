#include "simulator/collective/measured_collectives.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/error.h"

namespace trainyard::simulator {
namespace {

// The entry whose key is nearest by ratio; the map isn't empty.
template <class Value>
typename std::map<int, Value>::const_iterator nearest(const std::map<int, Value>& entries, int key) {
  auto best = entries.begin();
  const auto distance = [key](int other) { return std::abs(std::log(static_cast<double>(other) / key)); };
  for (auto it = entries.begin(); it != entries.end(); ++it) {
    if (distance(it->first) < distance(best->first)) {
      best = it;
    }
  }
  return best;
}

bool is_transfer(CommunicationKind kind) {
  return kind == CommunicationKind::kSend || kind == CommunicationKind::kRecv;
}

}  // namespace

MeasuredCollectives::MeasuredCollectives(const Concurrency& samples, std::string profile_name)
    : profile_name_(std::move(profile_name)) {
  std::map<CurveKey, std::map<int, std::vector<std::pair<double, double>>>> points;
  for (const CollectiveSample& sample : samples.collectives) {
    // A transfer has no algorithm; ring stands for it whatever the sample says.
    const CollectiveAlgorithm algorithm = is_transfer(sample.kind) ? CollectiveAlgorithm::kRing : sample.algorithm;
    points[{sample.kind, algorithm}][sample.group_size].emplace_back(static_cast<double>(sample.payload.value()),
                                                                     sample.time.si());
  }
  for (auto& [key, by_size] : points) {
    for (auto& [size, pairs] : by_size) {
      curves_[key].emplace(size, LogCurve(std::move(pairs)));
    }
  }
  for (const OverlapSlowdown& slowdown : samples.overlap) {
    overlap_.emplace(slowdown.group_size, slowdown);
  }
}

Seconds MeasuredCollectives::time(CommunicationKind kind, CollectiveAlgorithm algorithm, ByteCount payload,
                                  GroupPlacement placement) const {
  const double bytes = static_cast<double>(payload.value());
  if (is_transfer(kind)) {
    return from_si<Seconds>(sampled({CommunicationKind::kSend, CollectiveAlgorithm::kRing}, bytes, 2));
  }
  if (placement.size <= 1 || bytes <= 0.0) {
    return Seconds();
  }
  const CurveKey key{kind, algorithm};
  return from_si<Seconds>(curves_.contains(key) ? sampled(key, bytes, placement.size)
                                                : as_sends(key, bytes, placement.size));
}

double MeasuredCollectives::sampled(const CurveKey& key, double payload, int members) const {
  const auto curves = curves_.find(key);
  if (curves == curves_.end()) {
    throw Error("the device profile has no samples of messages between ranks", profile_name_,
                "measure the machine again with `trainyard calibrate`");
  }
  const auto& [size, curve] = *nearest(curves->second, members);
  const double time = curve(std::max(payload, 1.0));
  if (size == members) {
    return time;
  }
  const double start = std::min(curve.first_time(), time);
  const auto [kind, algorithm] = key;
  return start * dependent_steps(kind, algorithm, members) / dependent_steps(kind, algorithm, size) +
         (time - start) * wire_factor(kind, algorithm, members) / wire_factor(kind, algorithm, size);
}

double MeasuredCollectives::as_sends(const CurveKey& key, double payload, int members) const {
  const double steps = dependent_steps(key.first, key.second, members);
  const double wire = payload * wire_factor(key.first, key.second, members);
  return steps * sampled({CommunicationKind::kSend, CollectiveAlgorithm::kRing}, wire / steps, 2);
}

OverlapSlowdown MeasuredCollectives::overlap(int group_size) const {
  if (overlap_.empty()) {
    return {group_size, 1.0, 1.0};
  }
  OverlapSlowdown slowdown = nearest(overlap_, group_size)->second;
  slowdown.compute = std::max(slowdown.compute, 1.0);
  slowdown.communication = std::max(slowdown.communication, 1.0);
  return slowdown;
}

}  // namespace trainyard::simulator
