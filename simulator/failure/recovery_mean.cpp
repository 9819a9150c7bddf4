#include "simulator/failure/recovery_mean.h"

#include <cmath>
#include <numbers>

namespace trainyard::simulator {
namespace {

// E exp(-rate x t), t log-normal with mean `mean`: the trapezoidal rule over the normal variable.
double survival_of_restart(double rate, double mean, double sigma) {
  if (sigma <= 0.0) {
    return std::exp(-rate * mean);
  }
  // Steps of one standard deviation: the error is of the order of exp(-2 pi^2).
  double sum = 0.0;
  for (int z = -9; z <= 9; ++z) {
    const double time = mean * std::exp(sigma * z - 0.5 * sigma * sigma);
    sum += std::exp(-0.5 * z * z - rate * time);
  }
  return sum / std::sqrt(2.0 * std::numbers::pi);
}

// Of one attempt at recovery by a path.
struct Attempt {
  double done = 0.0;       // probability
  double time = 0.0;       // until done or hit
  double detection = 0.0;  // part of it
};

class RecoveryChain {
 public:
  RecoveryChain(const RecoveryPaths& paths, double rate) : paths_(paths), rate_(rate) {}

  RecoveryTimes solve(double stops) const {
    // Sums over paths of the share times ...
    Attempt memory;         // from memory
    Attempt storage;        // of all, from storage
    Attempt first_storage;  // of those that begin with storage
    double from_memory = 0.0;
    double from_storage = 0.0;
    for (const RecoveryPath& path : paths_.paths) {
      if (path.drops_replica) {
        continue;
      }
      const double share = path.share / stops;
      const Attempt late = attempt(path, path.restart_from_storage);
      add(storage, share, late);
      if (path.from_memory) {
        from_memory += share;
        add(memory, share, attempt(path, path.restart));
      } else {
        from_storage += share;
        add(first_storage, share, late);
      }
    }
    // Another one after a hit, by whichever path.
    const double again_time = storage.time / storage.done;
    const double again_detection = storage.detection / storage.done;
    const double hit = from_storage - first_storage.done;
    const double storage_time = first_storage.time + hit * again_time;
    const double storage_detection = first_storage.detection + hit * again_detection;
    const double memory_hit = from_memory - memory.done;
    const double stay = 1.0 - memory_hit;
    RecoveryTimes times;
    times.mean.rate = rate_;
    times.mean.time = (memory.time + memory_hit * storage_time) / stay + storage_time;
    times.detection = (memory.detection + memory_hit * storage_detection) / stay + storage_detection;
    times.mean.to_memory = memory.done / stay;
    return times;
  }

 private:
  static void add(Attempt& sum, double share, const Attempt& one) {
    sum.done += share * one.done;
    sum.time += share * one.time;
    sum.detection += share * one.detection;
  }

  Attempt attempt(const RecoveryPath& path, double restart) const {
    const double noticed = (1.0 - path.silent_share) * std::exp(-rate_ * path.detection) +
                           path.silent_share * std::exp(-rate_ * path.silent_detection);
    Attempt one;
    one.done = noticed * survival_of_restart(rate_, restart, paths_.tail_sigma);
    one.time = (1.0 - one.done) / rate_;
    one.detection = (1.0 - noticed) / rate_;
    return one;
  }

  const RecoveryPaths& paths_;
  double rate_;
};

RecoveryTimes undisturbed_times(const RecoveryPaths& paths, double stops) {
  RecoveryTimes times;
  for (const RecoveryPath& path : paths.paths) {
    if (path.drops_replica) {
      continue;
    }
    const double share = path.share / stops;
    const double detection = (1.0 - path.silent_share) * path.detection + path.silent_share * path.silent_detection;
    times.detection += share * detection;
    times.mean.time += share * (detection + path.restart);
    times.mean.to_memory += path.from_memory ? share : 0.0;
  }
  return times;
}

}  // namespace

RecoveryTimes recovery_times(const RecoveryPaths& paths, bool recovery_can_fail) {
  double stops = 0.0;
  for (const RecoveryPath& path : paths.paths) {
    stops += path.drops_replica ? 0.0 : path.share;
  }
  const double rate = paths.rate * stops;
  if (rate <= 0.0) {
    return {};
  }
  if (recovery_can_fail) {
    return RecoveryChain(paths, rate).solve(stops);
  }
  RecoveryTimes times = undisturbed_times(paths, stops);
  times.mean.rate = rate;
  return times;
}

}  // namespace trainyard::simulator
