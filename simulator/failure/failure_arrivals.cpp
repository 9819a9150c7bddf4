#include "simulator/failure/failure_arrivals.h"

#include <algorithm>
#include <limits>

namespace trainyard::simulator {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();

// Rate of first faults: as published, without the refaults that follow from them, each of which has its own.
double first_rate(const JobModel& job, const Hazard& hazard) {
  const double rate = hazard.rate.value.si() * job.fleet_factor.value;
  if (hazard.nodes_down == 0 || !hazard.repair.median) {
    return rate;
  }
  const auto nodes = static_cast<double>(hazard.nodes_down);
  const double more = hazard.refault_share.value * (1.0 - hazard.process_restart_share.value) * nodes;
  return rate * (1.0 - std::min(more, 0.9));
}

std::size_t pick(const std::vector<double>& cumulative, double uniform) {
  const auto at = std::upper_bound(cumulative.begin(), cumulative.end(), uniform * cumulative.back());
  return static_cast<std::size_t>(std::min(at, cumulative.end() - 1) - cumulative.begin());
}

}  // namespace

FailureArrivals::FailureArrivals(const JobModel& job, double crash_rate, RunRandom& random)
    : job_(job), random_(random), next_poisson_(kNever), next_frailty_(kNever), next_time_(kNever) {
  double poisson = 0.0;
  double frailty = 0.0;
  for (std::size_t i = 0; i < job.hazards.size(); ++i) {
    const Hazard& hazard = job.hazards[i];
    const double rate = first_rate(job, hazard);
    if (hazard.law == ArrivalLaw::kWeibull && rate > 0.0) {
      renewals_.push_back({i, 1.0 / rate, hazard.weibull_shape, 0.0});
      renewals_.back().next = random.weibull(hazard.weibull_shape) / rate;
    }
    poisson += hazard.law == ArrivalLaw::kExponential ? rate : 0.0;
    frailty += hazard.law == ArrivalLaw::kFrailty ? rate : 0.0;
    poisson_.push_back(poisson);
    frailty_.push_back(frailty);
  }
  poisson_.push_back(poisson + crash_rate);
  if (poisson_.back() > 0.0) {
    next_poisson_ = random.exponential() / poisson_.back();
  }
  if (frailty > 0.0) {
    unhit_ = static_cast<double>(job.nodes);
    node_rate_ = frailty / unhit_;
    shape_ = *job.frailty;
    draw_frailty(0.0);
  }
  find_next();
}

double FailureArrivals::frailty_rate(double clock) const {
  return node_rate_ * (unhit_ * shape_ / (shape_ + node_rate_ * clock) + known_sum_);
}

void FailureArrivals::draw_frailty(double clock) {
  double rate = frailty_rate(clock);
  for (;;) {
    clock += random_.exponential() / rate;
    const double then = frailty_rate(clock);
    if (random_.uniform() * rate < then) {
      next_frailty_ = clock;
      return;
    }
    rate = then;
  }
}

void FailureArrivals::find_next() {
  next_time_ = next_poisson_;
  source_ = Source::kPoisson;
  const auto sooner = [this](double time, Source source, std::size_t which) {
    if (time < next_time_) {
      next_time_ = time;
      source_ = source;
      which_ = which;
    }
  };
  sooner(next_frailty_, Source::kFrailty, 0);
  for (std::size_t i = 0; i < renewals_.size(); ++i) {
    sooner(renewals_[i].next, Source::kWeibull, i);
  }
  for (std::size_t i = 0; i < refaults_.size(); ++i) {
    sooner(refaults_[i].time, Source::kRefault, i);
  }
}

FailureArrival FailureArrivals::take_frailty() {
  FailureArrival arrival{pick(frailty_, random_.uniform()), {}};
  const double clock = next_time_;
  double at = random_.uniform() * frailty_rate(clock) / node_rate_;
  const double unhit = unhit_ * shape_ / (shape_ + node_rate_ * clock);
  if (at < unhit || known_.empty()) {
    const double g = random_.gamma(shape_ + 1.0) / (shape_ + node_rate_ * clock);
    unhit_ = std::max(0.0, unhit_ - 1.0);
    known_.push_back(g);
    known_sum_ += g;
    hit_ = known_.size() - 1;
  } else {
    at -= unhit;
    std::size_t i = 0;
    while (i + 1 < known_.size() && at >= known_[i]) {
      at -= known_[i++];
    }
    hit_ = i;
  }
  arrival.node = known_[*hit_];
  draw_frailty(clock);
  return arrival;
}

FailureArrival FailureArrivals::take() {
  FailureArrival arrival;
  hit_.reset();
  switch (source_) {
    case Source::kNone:
      break;
    case Source::kPoisson:
      arrival.hazard = pick(poisson_, random_.uniform());
      next_poisson_ = next_time_ + random_.exponential() / poisson_.back();
      break;
    case Source::kWeibull: {
      Renewal& renewal = renewals_[which_];
      arrival.hazard = renewal.hazard;
      renewal.next = next_time_ + renewal.mean * random_.weibull(renewal.shape);
      break;
    }
    case Source::kFrailty:
      arrival = take_frailty();
      break;
    case Source::kRefault: {
      arrival = refaults_[which_].arrival;
      refaults_.erase(refaults_.begin() + static_cast<std::ptrdiff_t>(which_));
      if (arrival.node) {
        const auto same = std::find(known_.begin(), known_.end(), *arrival.node);
        if (same != known_.end()) {
          hit_ = static_cast<std::size_t>(same - known_.begin());
        }
      }
      break;
    }
  }
  find_next();
  return arrival;
}

void FailureArrivals::replace(const FailureArrival& arrival, std::optional<double> returned, double clock) {
  if (node_rate_ <= 0.0) {
    return;
  }
  if (arrival.node && hit_) {
    known_sum_ -= known_[*hit_];
    known_.erase(known_.begin() + static_cast<std::ptrdiff_t>(*hit_));
    hit_.reset();
  } else {
    unhit_ = std::max(0.0, unhit_ - 1.0);
  }
  known_.push_back(returned ? *returned : random_.gamma(shape_) / shape_);
  known_sum_ += known_.back();
  draw_frailty(clock);
  find_next();
}

void FailureArrivals::returned_to_work(std::size_t hazard, std::optional<double> node, double clock) {
  const Hazard& from = job_.hazards[hazard];
  if (random_.uniform() < from.refault_share.value) {
    refaults_.push_back({clock + random_.uniform() * from.refault_window.si(), {hazard, node}});
    find_next();
  }
}

}  // namespace trainyard::simulator
