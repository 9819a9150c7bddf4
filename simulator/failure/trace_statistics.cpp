#include "simulator/failure/trace_statistics.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <vector>

namespace trainyard::simulator {
namespace {

constexpr double kDay = 86400.0;
constexpr double kRefaultWindow = 7.0 * kDay;

// Incidents of each node, overlapping ones joined.
std::vector<std::vector<Incident>> by_node(const IncidentTrace& trace) {
  std::vector<std::vector<Incident>> nodes(trace.nodes.size());
  for (const Incident& incident : trace.incidents) {
    std::vector<Incident>& of = nodes[incident.node];
    if (!of.empty() && incident.start <= of.back().end) {
      of.back().end = std::max(of.back().end, incident.end);
    } else {
      of.push_back(incident);
    }
  }
  return nodes;
}

void count_down(TraceStatistics& result, const std::vector<std::vector<Incident>>& nodes, double begin, double end) {
  std::map<double, std::int64_t> steps;
  double down = 0.0;
  for (const std::vector<Incident>& incidents : nodes) {
    for (const Incident& incident : incidents) {
      ++steps[incident.start];
      --steps[incident.end];
      down += incident.end - incident.start;
    }
  }
  std::map<std::int64_t, double> time_at;
  std::int64_t count = 0;
  double since = begin;
  for (const auto& [time, step] : steps) {
    time_at[count] += time - since;
    since = time;
    count += step;
  }
  time_at[count] += end - since;
  const auto quantile = [&](double share) {
    double sum = 0.0;
    for (const auto& [level, time] : time_at) {
      sum += time;
      if (sum >= share * (end - begin)) {
        return level;
      }
    }
    return time_at.rbegin()->first;
  };
  result.unavailability = down / (static_cast<double>(result.nodes) * (end - begin));
  result.down_mean = down / (end - begin);
  result.down_p50 = quantile(0.50);
  result.down_p90 = quantile(0.90);
  result.down_p99 = quantile(0.99);
}

void count_faults(TraceStatistics& result, const IncidentTrace& trace) {
  std::vector<std::int64_t> faults(static_cast<std::size_t>(result.nodes));
  std::vector<std::int64_t> daily(static_cast<std::size_t>(result.days) + 1);
  for (const Incident& incident : trace.incidents) {
    ++faults[incident.node];
    ++daily[static_cast<std::size_t>((incident.start - trace.begin) / kDay)];
  }
  result.frailty = frailty_statistics(faults);
  const double mean = static_cast<double>(trace.incidents.size()) / static_cast<double>(result.nodes);
  if (result.frailty.variance_to_mean > 1.0) {
    result.frailty_shape = shape_of_dispersion(mean, result.frailty.variance_to_mean);
  }
  result.daily_variance_to_mean = frailty_statistics(daily).variance_to_mean;
}

void fit_repair(TraceStatistics& result, const IncidentTrace& trace) {
  std::vector<double> times;
  double logs = 0.0;
  double squares = 0.0;
  for (const Incident& incident : trace.incidents) {
    times.push_back(incident.end - incident.start);
    const double log = std::log(std::max(1.0, times.back()));
    logs += log;
    squares += log * log;
    result.repair_mean += times.back();
  }
  const auto count = static_cast<double>(times.size());
  result.repair_mean /= count;
  result.repair_log_sigma = std::sqrt(std::max(0.0, squares / count - logs / count * logs / count));
  const auto middle = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2);
  std::nth_element(times.begin(), middle, times.end());
  result.repair_median = *middle;
}

double refault_share(const std::vector<std::vector<Incident>>& nodes) {
  double again = 0.0;
  double all = 0.0;
  for (const std::vector<Incident>& incidents : nodes) {
    all += static_cast<double>(incidents.size());
    for (std::size_t i = 1; i < incidents.size(); ++i) {
      again += incidents[i].start - incidents[i - 1].end <= kRefaultWindow ? 1.0 : 0.0;
    }
  }
  return again / all;
}

}  // namespace

TraceStatistics trace_statistics(const IncidentTrace& trace, std::optional<std::int64_t> fleet) {
  TraceStatistics result;
  result.incidents = static_cast<std::int64_t>(trace.incidents.size());
  result.repeated = trace.repeated;
  result.nodes = fleet_size(trace, fleet);
  result.days = (trace.end - trace.begin) / kDay;
  result.per_1000_node_days =
      1000.0 * static_cast<double>(result.incidents) / (static_cast<double>(result.nodes) * result.days);
  const std::vector<std::vector<Incident>> nodes = by_node(trace);
  count_down(result, nodes, trace.begin, trace.end);
  count_faults(result, trace);
  fit_repair(result, trace);
  result.refault_share = refault_share(nodes);
  return result;
}

}  // namespace trainyard::simulator
