#include "simulator/failure/interval_search.h"

#include <algorithm>
#include <cmath>
#include <functional>

#include "simulator/failure/corruption_flow.h"
#include "simulator/failure/job_pace.h"
#include "simulator/failure/optimal_interval.h"
#include "simulator/failure/recovery_paths.h"
#include "simulator/failure/reliability.h"

namespace trainyard::simulator {
namespace {

constexpr double kFlat = 0.001;  // of the goodput: as good as the best
constexpr double kNever = 0.9;   // of the longest interval: the model sees no use in the saves

// Where f(x) is largest in [low, high], by logarithm; f has one maximum there.
double golden_section(double low, double high, const std::function<double(double)>& f) {
  constexpr double kRatio = 0.6180339887498949;
  double a = std::log(low);
  double b = std::log(high);
  double c = b - kRatio * (b - a);
  double d = a + kRatio * (b - a);
  double fc = f(std::exp(c));
  double fd = f(std::exp(d));
  while (b - a > 1e-4) {
    if (fc >= fd) {
      b = d;
      d = c;
      fd = fc;
      c = b - kRatio * (b - a);
      fc = f(std::exp(c));
    } else {
      a = c;
      c = d;
      fc = fd;
      d = a + kRatio * (b - a);
      fd = f(std::exp(d));
    }
  }
  return std::exp(0.5 * (a + b));
}

class IntervalSearch {
 public:
  explicit IntervalSearch(const JobModel& job) : job_(job), memory_(uses_memory(job)) {
    // Shorter intervals than a step can't be; longer ones than the job are none.
    shortest_ = job.step_time.si();
    longest_ = std::max(2.0 * shortest_, job.length.si());
    floor_ = std::max(shortest_, shortest_by_write());
    longest_ = std::max(longest_, 2.0 * floor_);
  }

  // A storage interval below the background write is the write's: the goodput is flat there.
  double shortest_by_write() const {
    JobModel often = job_;
    often.checkpoints.storage.interval = from_si<Seconds>(shortest_);
    often.checkpoints.memory.reset();
    const JobPace pace = job_pace(often, corruption_flow(job_.corruption, job_.policy.detectors, job_.replicas.count));
    return pace.segment_work;
  }

  double goodput(double storage, double memory) {
    job_.checkpoints.storage.interval = from_si<Seconds>(storage);
    if (memory_) {
      job_.checkpoints.memory->interval = from_si<Seconds>(std::min(memory, storage));
    }
    return analyse(job_).goodput;
  }

  double best_storage(double memory) {
    return golden_section(std::max(floor_, memory_ ? memory : 0.0), longest_,
                          [&](double storage) { return goodput(storage, memory); });
  }

  double best_memory(double storage) {
    return golden_section(shortest_, storage, [&](double memory) { return goodput(storage, memory); });
  }

  bool memory() const { return memory_; }

  // The end of the flat part, from the best outwards to `limit`.
  double flat_end(double best, double memory, double limit, double wanted) {
    double inside = std::log(best);
    double outside = std::log(limit);
    if (goodput(limit, memory) >= wanted) {
      return limit;
    }
    while (std::abs(outside - inside) > 1e-3) {
      const double middle = 0.5 * (inside + outside);
      (goodput(std::exp(middle), memory) >= wanted ? inside : outside) = middle;
    }
    return std::exp(inside);
  }

  double shortest() const { return shortest_; }
  double floor() const { return floor_; }
  double longest() const { return longest_; }

 private:
  JobModel job_;
  bool memory_;
  double shortest_;
  double longest_;
  double floor_;
};

}  // namespace

BestInterval best_interval(const JobModel& job) {
  IntervalSearch search(job);
  double memory = search.memory() ? job.checkpoints.memory->interval.si() : search.shortest();
  double storage = search.best_storage(memory);
  for (int turn = 0; search.memory() && turn < 3; ++turn) {
    memory = search.best_memory(storage);
    storage = search.best_storage(memory);
  }
  BestInterval best;
  best.goodput = search.goodput(storage, memory);
  if (search.memory()) {
    best.memory = from_si<Seconds>(memory);
  }
  const double wanted = (1.0 - kFlat) * best.goodput;
  const double shortest = std::max(search.floor(), search.memory() ? memory : 0.0);
  best.flat_from = from_si<Seconds>(search.flat_end(storage, memory, shortest, wanted));
  best.flat_to = from_si<Seconds>(search.flat_end(storage, memory, search.longest(), wanted));
  if (storage > kNever * search.longest()) {
    storage = best.flat_from.si();
    best.goodput = search.goodput(storage, memory);
  }
  best.storage = from_si<Seconds>(storage);
  const Seconds mttf = analyse(job).mttf;
  best.closed_form = exact_interval(job.checkpoints.storage.blocking.value, mttf);
  best.young = young_interval(job.checkpoints.storage.blocking.value, mttf);
  best.floor = from_si<Seconds>(search.floor());
  return best;
}

std::vector<IntervalPoint> interval_sweep(const JobModel& job, Seconds from, Seconds to, int points) {
  IntervalSearch search(job);
  const double memory = search.memory() ? job.checkpoints.memory->interval.si() : from.si();
  std::vector<IntervalPoint> sweep;
  for (int i = 0; i < points; ++i) {
    const double share = points > 1 ? static_cast<double>(i) / (points - 1) : 0.0;
    const double storage = from.si() * std::pow(to / from, share);
    sweep.push_back({from_si<Seconds>(storage), search.goodput(storage, memory)});
  }
  return sweep;
}

}  // namespace trainyard::simulator
