// When the failures of one simulated run come, and which node they hit. Events alone are sampled: nodes that nothing
// happens to cost nothing.
//
//   exponential  one Poisson process for all such classes; which class, by their rates
//   weibull      a renewal process each
//   frailty      node j at r g_j, g_j ~ Gamma(k, 1/k), r the rate of one node. Nodes never hit are kept as a number n0
//   alone:
//                having survived an exposure t, together they fail at n0 r k / (k + r t), and one that is hit has
//                g ~ Gamma(k + 1, 1 / (k + r t)). Nodes that were hit, or came later, have their g drawn. Exact;
//                sampled by thinning, as the rate only falls between events.
//   refaults     a repaired node that works again fails within the window with the class's refault share
//
// Time is the clock during which failures come.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "simulator/failure/job_model.h"
#include "simulator/failure/run_random.h"

namespace trainyard::simulator {

struct FailureArrival {
  std::size_t hazard = 0;  // of the job; one past the last: NaN or Inf
  // Of the node it hit, where nodes differ: how often it fails, against the mean.
  std::optional<double> node;
};

class FailureArrivals {
 public:
  // crash_rate: of NaN or Inf from corruptions.
  FailureArrivals(const JobModel& job, double crash_rate, RunRandom& random);

  double next_time() const { return next_time_; }
  FailureArrival take();  // the one at next_time(); the clock is there then

  // The node that was hit leaves (it is the one given last by take()), and another takes its place: a returned one with
  // its g, or a new one. clock: now.
  void replace(const FailureArrival& arrival, std::optional<double> returned, double clock);
  // A node that came back from repair works again: whether and when it fails again.
  void returned_to_work(std::size_t hazard, std::optional<double> node, double clock);

 private:
  enum class Source : std::uint8_t { kNone, kPoisson, kWeibull, kFrailty, kRefault };
  struct Renewal {
    std::size_t hazard;
    double mean;
    double shape;
    double next;
  };
  struct Refault {
    double time;
    FailureArrival arrival;
  };

  double frailty_rate(double clock) const;
  void draw_frailty(double clock);
  FailureArrival take_frailty();
  void find_next();

  const JobModel& job_;
  RunRandom& random_;
  std::vector<double> poisson_;  // cumulative rates, by hazard; NaN or Inf last
  double next_poisson_;
  std::vector<Renewal> renewals_;
  double node_rate_ = 0.0;     // r
  double shape_ = 0.0;         // k
  double unhit_ = 0.0;         // n0
  std::vector<double> known_;  // g of the others
  double known_sum_ = 0.0;
  std::vector<double> frailty_;  // cumulative rates of those classes, by hazard
  double next_frailty_;
  std::vector<Refault> refaults_;
  double next_time_;
  Source source_ = Source::kNone;
  std::size_t which_ = 0;
  std::optional<std::size_t> hit_;  // index in known_ of the node given last
};

}  // namespace trainyard::simulator
