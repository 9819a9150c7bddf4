#include "simulator/failure/count_law.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

namespace trainyard::simulator {
namespace {

// Least c with sum_{i<=c} P(i) >= q, from P(0) and P(i+1)/P(i). Logarithms: P(0) underflows for large means.
std::int64_t quantile_of(double log_first, const std::function<double(std::int64_t)>& ratio, double quantile,
                         std::int64_t largest) {
  double log_term = log_first;
  double sum = std::exp(log_term);
  std::int64_t count = 0;
  while (sum < quantile && count < largest) {
    const double next = ratio(count);
    if (next <= 0.0) {
      break;
    }
    log_term += std::log(next);
    sum += std::exp(log_term);
    ++count;
    if (next < 1.0 && log_term < -745.0) {
      break;  // the tail is below what a double holds: the sum is as near 1 as it gets
    }
  }
  return count;
}

std::int64_t limit_of(double mean, double spread) { return static_cast<std::int64_t>(mean + 60.0 * spread + 200.0); }

double log_negative_binomial_none(double mean, double shape) { return -shape * std::log1p(mean / shape); }

double negative_binomial_ratio(double mean, double shape, std::int64_t count) {
  const auto i = static_cast<double>(count);
  return (shape + i) / (i + 1.0) * mean / (shape + mean);
}

// Share of faults on the worst `share` of nodes, given the shares of nodes by count (index: count).
double share_on_worst(const std::vector<double>& nodes_with, double mean, double share) {
  double left = share;
  double faults = 0.0;
  for (std::size_t count = nodes_with.size(); count-- > 0 && left > 0.0;) {
    const double taken = std::min(left, nodes_with[count]);
    faults += taken * static_cast<double>(count);
    left -= taken;
  }
  return mean > 0.0 ? faults / mean : 0.0;
}

}  // namespace

std::int64_t binomial_quantile(std::int64_t nodes, double probability, double quantile) {
  if (probability >= 1.0) {
    return nodes;
  }
  const double odds = probability / (1.0 - probability);
  const auto ratio = [&](std::int64_t i) { return static_cast<double>(nodes - i) / static_cast<double>(i + 1) * odds; };
  return quantile_of(static_cast<double>(nodes) * std::log1p(-probability), ratio, quantile, nodes);
}

std::int64_t poisson_quantile(double mean, double quantile) {
  const auto ratio = [&](std::int64_t i) { return mean / static_cast<double>(i + 1); };
  return quantile_of(-mean, ratio, quantile, limit_of(mean, std::sqrt(mean)));
}

std::int64_t negative_binomial_quantile(double mean, double shape, double quantile) {
  if (!std::isfinite(shape)) {
    return poisson_quantile(mean, quantile);
  }
  const auto ratio = [&](std::int64_t i) { return negative_binomial_ratio(mean, shape, i); };
  return quantile_of(log_negative_binomial_none(mean, shape), ratio, quantile,
                     limit_of(mean, std::sqrt(mean * (1.0 + mean / shape))));
}

// One pass over 0..c: E[(N - c)+] = mean - c + sum over i <= c of (c - i) P(i).
Excess negative_binomial_excess(double mean, double shape, std::int64_t c) {
  if (mean <= 0.0) {
    return {};
  }
  const bool poisson = !std::isfinite(shape);
  double log_term = poisson ? -mean : log_negative_binomial_none(mean, shape);
  double sum = 0.0;
  double below = 0.0;
  for (std::int64_t i = 0; i <= c; ++i) {
    const double term = std::exp(log_term);
    sum += term;
    below += static_cast<double>(c - i) * term;
    log_term += std::log(poisson ? mean / static_cast<double>(i + 1) : negative_binomial_ratio(mean, shape, i));
  }
  return {std::max(0.0, 1.0 - sum), std::max(0.0, mean - static_cast<double>(c) + below)};
}

double negative_binomial_point(double mean, double shape, std::int64_t c) {
  if (c < 0 || mean <= 0.0) {
    return c == 0 ? 1.0 : 0.0;
  }
  const auto n = static_cast<double>(c);
  if (!std::isfinite(shape)) {
    return std::exp(n * std::log(mean) - mean - std::lgamma(n + 1.0));
  }
  return std::exp(std::lgamma(shape + n) - std::lgamma(shape) - std::lgamma(n + 1.0) +
                  log_negative_binomial_none(mean, shape) + n * std::log(mean / (shape + mean)));
}

double shape_of_dispersion(double mean, double variance_to_mean) {
  return variance_to_mean > 1.0 ? mean / (variance_to_mean - 1.0) : std::numeric_limits<double>::infinity();
}

FrailtyStatistics frailty_statistics(double shape, double mean_faults) {
  std::vector<double> nodes_with;
  double log_term = std::isfinite(shape) ? log_negative_binomial_none(mean_faults, shape) : -mean_faults;
  double sum = 0.0;
  for (std::int64_t i = 0; sum < 1.0 - 1e-12 && i < 1'000'000; ++i) {
    nodes_with.push_back(std::exp(log_term));
    sum += nodes_with.back();
    log_term += std::log(std::isfinite(shape) ? negative_binomial_ratio(mean_faults, shape, i)
                                              : mean_faults / static_cast<double>(i + 1));
  }
  return {nodes_with.front(), share_on_worst(nodes_with, mean_faults, 0.05),
          share_on_worst(nodes_with, mean_faults, 0.10), 1.0 + mean_faults / shape};
}

FrailtyStatistics frailty_statistics(const std::vector<std::int64_t>& faults) {
  if (faults.empty()) {
    return {1.0, 0.0, 0.0, 1.0};
  }
  const auto nodes = static_cast<double>(faults.size());
  std::vector<double> nodes_with(static_cast<std::size_t>(*std::max_element(faults.begin(), faults.end())) + 1);
  double mean = 0.0;
  double squares = 0.0;
  for (const std::int64_t count : faults) {
    nodes_with[static_cast<std::size_t>(count)] += 1.0 / nodes;
    mean += static_cast<double>(count) / nodes;
    squares += static_cast<double>(count) * static_cast<double>(count) / nodes;
  }
  const double variance = squares - mean * mean;
  return {nodes_with.front(), share_on_worst(nodes_with, mean, 0.05), share_on_worst(nodes_with, mean, 0.10),
          mean > 0.0 ? variance / mean : 1.0};
}

}  // namespace trainyard::simulator
