// How many nodes are down at once, or fail in a time: distributions of counts and their quantiles.
//
//   binomial           n nodes, each down with probability p               (ByteRobust's spares)
//   Poisson            mean m: independent failures; also many repairs under way (M/G/infinity)
//   negative binomial  mean m, variance/mean 1 + m/k: a Gamma(k) rate behind it, bad nodes or bursts
//
// The quantile is the least count c with P(count <= c) >= q. Infinite k: Poisson.
#pragma once

#include <cstdint>
#include <vector>

namespace trainyard::simulator {

std::int64_t binomial_quantile(std::int64_t nodes, double probability, double quantile);
std::int64_t poisson_quantile(double mean, double quantile);
std::int64_t negative_binomial_quantile(double mean, double shape, double quantile);
// Above c: P(count > c), and E[(count - c)+].
struct Excess {
  double probability = 0.0;
  double mean = 0.0;
};
Excess negative_binomial_excess(double mean, double shape, std::int64_t c);
double negative_binomial_point(double mean, double shape, std::int64_t c);  // P(count = c)
// k from a measured variance/mean: mean / (ratio - 1); infinite for ratio <= 1
double shape_of_dispersion(double mean, double variance_to_mean);

// Bad nodes: counts of faults per node with Gamma frailty of shape k.
struct FrailtyStatistics {
  double never_hit = 0.0;   // share of nodes
  double worst_5pct = 0.0;  // share of all faults on the worst 5 % of nodes
  double worst_10pct = 0.0;
  double variance_to_mean = 1.0;
};
FrailtyStatistics frailty_statistics(double shape, double mean_faults);
// The same of measured counts, one a node.
FrailtyStatistics frailty_statistics(const std::vector<std::int64_t>& faults);

}  // namespace trainyard::simulator
