#include "simulator/throughput/throughput_score.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "simulator/throughput/machine_rates.h"

namespace trainyard::simulator {

namespace {

struct Collected {
  std::vector<double> errors;
  std::vector<bool> inside;
  void add(double error, bool in) {
    errors.push_back(error);
    inside.push_back(in);
  }
  ErrorStatistics statistics() const { return error_statistics(errors, inside); }
};

using ByName = std::map<std::string, Collected>;

std::map<std::string, ErrorStatistics> statistics_of(const ByName& collected) {
  std::map<std::string, ErrorStatistics> statistics;
  for (const auto& [name, one] : collected) {
    statistics[name] = one.statistics();
  }
  return statistics;
}

std::string scale_of(std::int64_t gpus) {
  return gpus <= 8 ? "to 8 GPUs" : gpus <= 64 ? "9 to 64" : gpus <= 512 ? "65 to 512" : "more than 512";
}

std::string kind_of(const ThroughputRow& row) { return row.moe ? "moe" : "dense"; }

// Ranks from 1, equal values share their mean.
std::vector<double> ranks(const std::vector<double>& values) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return values[a] < values[b]; });
  std::vector<double> rank(values.size());
  for (std::size_t i = 0; i < order.size();) {
    std::size_t end = i;
    while (end < order.size() && values[order[end]] == values[order[i]]) {
      ++end;
    }
    for (std::size_t k = i; k < end; ++k) {
      rank[order[k]] = 0.5 * static_cast<double>(i + end - 1) + 1.0;
    }
    i = end;
  }
  return rank;
}

constexpr int kFewestOfGrid = 4;

std::vector<GridStatistics> grid_statistics(const std::vector<ThroughputRow>& rows) {
  std::map<std::string, std::vector<const ThroughputRow*>> grids;
  for (const ThroughputRow& row : rows) {
    if (row.reason.empty() && !row.excluded) {
      grids[row.grid].push_back(&row);
    }
  }
  std::vector<GridStatistics> result;
  for (const auto& [name, members] : grids) {
    std::vector<double> predicted;
    std::vector<double> measured;
    for (const ThroughputRow* row : members) {
      predicted.push_back(row->predicted);
      measured.push_back(row->measured);
    }
    if (static_cast<int>(members.size()) < kFewestOfGrid) {
      continue;
    }
    GridStatistics grid;
    grid.name = name;
    grid.rows = static_cast<int>(members.size());
    grid.spearman = spearman(predicted, measured);
    grid.kendall = kendall(predicted, measured);
    const auto pick = std::max_element(predicted.begin(), predicted.end()) - predicted.begin();
    grid.regret =
        *std::max_element(measured.begin(), measured.end()) / measured.at(static_cast<std::size_t>(pick)) - 1.0;
    result.push_back(grid);
  }
  return result;
}

// MFU of each GPU and precision, the median; predicts every row of it.
ErrorStatistics constant_mfu(const std::vector<ThroughputCase>& cases, const std::vector<ThroughputRow>& rows) {
  std::map<std::string, std::vector<double>> rates;
  const auto key = [](const ThroughputCase& row) { return row.run.gpu + row.run.parallelism.precision; };
  const auto mfu = [&](std::size_t i) {
    // kIdeal over the step time is MFU at the predicted speed.
    Seconds total;
    for (const Seconds part : rows[i].losses) {
      total += part;
    }
    return rows[i].losses[0] / total * rows[i].measured / rows[i].predicted;
  };
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (rows[i].reason.empty() && !rows[i].excluded) {
      rates[key(cases[i])].push_back(mfu(i));
    }
  }
  std::vector<double> errors;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (rows[i].reason.empty() && !rows[i].excluded) {
      errors.push_back(median(rates.at(key(cases[i]))) / mfu(i) - 1.0);
    }
  }
  return error_statistics(errors);
}

ErrorStatistics smallest_scale(const std::vector<ThroughputCase>& cases, const std::vector<ThroughputRow>& rows) {
  std::map<std::string, std::size_t> smallest;
  const auto key = [](const ThroughputCase& row) {
    return row.run.source_key + row.run.model.name + row.run.gpu + row.run.parallelism.precision +
           std::to_string(row.workload.sequence);
  };
  const auto counts = [&](std::size_t i) { return rows[i].reason.empty() && !rows[i].excluded; };
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (counts(i)) {
      const auto [entry, fresh] = smallest.try_emplace(key(cases[i]), i);
      if (!fresh && rows[i].gpus < rows[entry->second].gpus) {
        entry->second = i;
      }
    }
  }
  std::vector<double> errors;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (counts(i) && rows[i].gpus > rows[smallest.at(key(cases[i]))].gpus) {
      errors.push_back(rows[smallest.at(key(cases[i]))].measured / rows[i].measured - 1.0);
    }
  }
  return error_statistics(errors);
}

double mean_of_sources(const std::map<std::string, ErrorStatistics>& sources) {
  double sum = 0.0;
  for (const auto& [name, statistics] : sources) {
    sum += statistics.mean;
  }
  return sources.empty() ? 0.0 : sum / static_cast<double>(sources.size());
}

LeftOutStatistics left_out_statistics(const std::vector<ThroughputRow>& rows, bool moe) {
  ByName plain;
  ByName scaled;
  ByName anchored;
  std::map<std::string, std::vector<double>> anchors;
  Collected all;
  for (const ThroughputRow& row : rows) {
    if (row.left_out_error && row.moe == moe) {
      plain[row.source].add(*row.left_out_error, false);
      scaled[row.source].add(*row.scaled_error, false);
      anchored[row.source].add(*row.anchored_error, false);
      anchors[row.source].push_back(*row.as_anchor_error);
      all.add(*row.left_out_error, false);
    }
  }
  LeftOutStatistics statistics;
  statistics.rows = all.statistics();
  statistics.sources = statistics_of(plain);
  statistics.by_source = mean_of_sources(statistics.sources);
  statistics.scaled = mean_of_sources(statistics_of(scaled));
  statistics.anchored = mean_of_sources(statistics_of(anchored));
  for (const auto& [name, errors] : anchors) {
    statistics.typical += median(errors) / static_cast<double>(anchors.size());
  }
  return statistics;
}

}  // namespace

double median(std::vector<double> values) {
  if (values.empty()) {
    return 0.0;
  }
  std::sort(values.begin(), values.end());
  const std::size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : 0.5 * (values[half - 1] + values[half]);
}

double four_fifths(std::vector<double> values) {
  if (values.empty()) {
    return 0.0;
  }
  for (double& value : values) {
    value = std::abs(value);
  }
  std::sort(values.begin(), values.end());
  const double place =
      std::clamp(0.8 * static_cast<double>(values.size()) - 0.5, 0.0, static_cast<double>(values.size() - 1));
  const auto below = static_cast<std::size_t>(place);
  const std::size_t above = std::min(below + 1, values.size() - 1);
  return values[below] + (place - static_cast<double>(below)) * (values[above] - values[below]);
}

ErrorStatistics error_statistics(const std::vector<double>& errors, const std::vector<bool>& inside) {
  ErrorStatistics statistics;
  statistics.rows = static_cast<int>(errors.size());
  if (errors.empty()) {
    return statistics;
  }
  const auto count = static_cast<double>(errors.size());
  std::vector<double> sizes;
  for (const double error : errors) {
    sizes.push_back(std::abs(error));
    statistics.bias += error / count;
    statistics.mean += std::abs(error) / count;
  }
  std::sort(sizes.begin(), sizes.end());
  statistics.max = sizes.back();
  statistics.p90 = sizes[std::min(sizes.size() - 1, static_cast<std::size_t>(0.9 * count))];
  statistics.inside = static_cast<double>(std::count(inside.begin(), inside.end(), true)) / count;
  return statistics;
}

double spearman(const std::vector<double>& a, const std::vector<double>& b) {
  const std::vector<double> x = ranks(a);
  const std::vector<double> y = ranks(b);
  const double mean = 0.5 * (static_cast<double>(a.size()) + 1.0);
  double xy = 0.0;
  double xx = 0.0;
  double yy = 0.0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    xy += (x[i] - mean) * (y[i] - mean);
    xx += (x[i] - mean) * (x[i] - mean);
    yy += (y[i] - mean) * (y[i] - mean);
  }
  return xx > 0.0 && yy > 0.0 ? xy / std::sqrt(xx * yy) : 0.0;
}

double kendall(const std::vector<double>& a, const std::vector<double>& b) {
  double agreeing = 0.0;
  double tied_a = 0.0;
  double tied_b = 0.0;
  double pairs = 0.0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      const double product = (a[i] - a[j]) * (b[i] - b[j]);
      agreeing += product > 0.0 ? 1.0 : product < 0.0 ? -1.0 : 0.0;
      tied_a += a[i] == a[j] ? 1.0 : 0.0;
      tied_b += b[i] == b[j] ? 1.0 : 0.0;
      pairs += 1.0;
    }
  }
  const double scale = std::sqrt((pairs - tied_a) * (pairs - tied_b));
  return scale > 0.0 ? agreeing / scale : 0.0;
}

ThroughputSummary summarise(const std::vector<ThroughputCase>& cases, const std::vector<ThroughputRow>& rows) {
  ThroughputSummary summary;
  ByName kinds;
  ByName families;
  ByName scales;
  std::map<std::string, ByName> sources;
  bool left_out = false;
  for (const ThroughputRow& row : rows) {
    ++summary.rows;
    summary.scored += row.reason.empty() ? 1 : 0;
    summary.excluded += row.reason.empty() && row.excluded ? 1 : 0;
    if (!row.reason.empty() || row.excluded) {
      continue;
    }
    const bool inside = row.low <= row.measured && row.measured <= row.high;
    kinds[kind_of(row)].add(row.error, inside);
    families[row.family].add(row.error, inside);
    scales[scale_of(row.gpus)].add(row.error, inside);
    sources[kind_of(row)][row.source].add(row.error, inside);
    left_out = left_out || row.left_out_error.has_value();
  }
  summary.kinds = statistics_of(kinds);
  summary.families = statistics_of(families);
  summary.scales = statistics_of(scales);
  for (const auto& [kind, collected] : sources) {
    const std::map<std::string, ErrorStatistics> statistics = statistics_of(collected);
    summary.by_source[kind] = mean_of_sources(statistics);
    for (const auto& [source, one] : statistics) {
      summary.sources[source + (kind == "moe" ? ", moe" : "")] = one;
    }
  }
  summary.grids = grid_statistics(rows);
  summary.baselines["constant_mfu"] = constant_mfu(cases, rows);
  summary.baselines["smallest_scale"] = smallest_scale(cases, rows);
  if (left_out) {
    summary.left_out["dense"] = left_out_statistics(rows, false);
    summary.left_out["moe"] = left_out_statistics(rows, true);
  }
  return summary;
}

}  // namespace trainyard::simulator
