#include "core/plan/device_profile.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/error.h"

namespace trainyard {

const Concurrency& MeasuredProfile::at(int ranks_at_once) const {
  const Concurrency* best = nullptr;
  for (const Concurrency& set : concurrencies) {
    const bool fits = set.ranks_at_once >= ranks_at_once;
    if (best == nullptr) {
      best = &set;
    } else if (const bool best_fits = best->ranks_at_once >= ranks_at_once; fits != best_fits) {
      best = fits ? &set : best;
    } else if (fits ? set.ranks_at_once < best->ranks_at_once : set.ranks_at_once > best->ranks_at_once) {
      best = &set;
    }
  }
  if (best == nullptr) {
    throw Error("the device profile holds no samples", "/concurrencies",
                "measure the machine with `trainyard calibrate`");
  }
  return *best;
}

std::string_view to_string(CopyDirection direction) {
  return direction == CopyDirection::kToDevice ? "to_device" : "to_host";
}

std::optional<BytesPerSecond> best_copy_rate(const Concurrency& set, CopyDirection direction) {
  std::optional<BytesPerSecond> best;
  for (const HostCopySample& sample : set.host_copies) {
    if (sample.direction == direction) {
      const BytesPerSecond rate = sample.bytes.quantity() / sample.time;
      best = best ? max(*best, rate) : rate;
    }
  }
  return best;
}

ByteCount memory_per_rank(const DeviceProfile& profile, std::int64_t ranks_at_once) {
  if (const MeasuredProfile* measured = profile.measured()) {
    return ByteCount(measured->memory.value() / std::max<std::int64_t>(ranks_at_once, 1));
  }
  return profile.analytic()->accelerator.memory.value;
}

FlopsPerSecond peak_rate(const DeviceProfile& profile, DataType type, std::int64_t ranks_at_once) {
  if (const MeasuredProfile* measured = profile.measured()) {
    const Concurrency& set = measured->at(static_cast<int>(ranks_at_once));
    FlopsPerSecond best;
    for (const GemmSample& sample : set.gemms) {
      best = sample.gemm.type == type ? max(best, flops(Operation(sample.gemm)).quantity() / sample.time) : best;
    }
    return best.si() > 0.0 ? best : set.peak_gemm_rate;
  }
  return profile.analytic()->accelerator.peak(type);
}

DeviceProfile analytic_profile(Accelerator accelerator, Fabric fabric) {
  DeviceProfile profile;
  profile.name = fabric.name;
  profile.device = "cuda";
  profile.data = AnalyticProfile{std::move(accelerator), std::move(fabric)};
  return profile;
}

}  // namespace trainyard
