#include "simulator/collective/curve_fit.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "core/error.h"
#include "simulator/collective/curve_priors.h"

namespace trainyard::simulator {

namespace {

constexpr int kSweeps = 12;
constexpr int kSteps = 60;
constexpr double kStill = 1e-5;

using Matrix = std::array<CurveLogs, kCurveUnknowns>;

// Cholesky of a positive definite matrix of 5 by 5.
CurveLogs solve(Matrix a, CurveLogs b) {
  for (std::size_t j = 0; j < kCurveUnknowns; ++j) {
    for (std::size_t k = 0; k < j; ++k) {
      a[j][j] -= a[j][k] * a[j][k];
    }
    a[j][j] = std::sqrt(a[j][j]);
    for (std::size_t i = j + 1; i < kCurveUnknowns; ++i) {
      for (std::size_t k = 0; k < j; ++k) {
        a[i][j] -= a[i][k] * a[j][k];
      }
      a[i][j] /= a[j][j];
    }
  }
  for (std::size_t i = 0; i < kCurveUnknowns; ++i) {
    for (std::size_t k = 0; k < i; ++k) {
      b[i] -= a[i][k] * b[k];
    }
    b[i] /= a[i][i];
  }
  for (std::size_t i = kCurveUnknowns; i-- > 0;) {
    for (std::size_t k = i + 1; k < kCurveUnknowns; ++k) {
      b[i] -= a[k][i] * b[k];
    }
    b[i] /= a[i][i];
  }
  return b;
}

double log_ratio(const FitObservation& observation, const CurveTable& table) {
  const Curve curve = make_curve(observation.shape, table);
  return std::log(curve.bus_bandwidth(observation.size).si() / observation.bus.si());
}

// One class against its observations and a Gaussian around `mean`. The curves are made once; their parts that the
// class's constants decide are replaced in place.
class ClassFit {
 public:
  ClassFit(const std::vector<const FitObservation*>& observations, const CurveTable& table, const CurvePriors& priors,
           const CurveLogs& mean)
      : mean_(mean), deviation_(priors.class_deviation), scale_(priors.scale) {
    for (const FitObservation* observation : observations) {
      const CurveShape& shape = observation->shape;
      entries_.push_back({make_curve(shape, table), shape.bandwidth.si(), shape.cap.si(),
                          shape.levels.front().fill_share, shape.framework ? table.framework_floor : 1.0,
                          observation->size, std::log(observation->bus.si()), observation->weight});
    }
  }

  // The best of several starts; the fill's corner is where one can get stuck.
  CurveLogs best(const CurveLogs& start) {
    constexpr std::size_t kCorner = 3;  // component of x0
    constexpr std::array<double, 3> kShifts = {0.0, -2.0, 2.0};
    CurveLogs best = start;
    double lowest = cost(start);
    for (const double shift : kShifts) {
      CurveLogs from = start;
      from[kCorner] += shift;
      const CurveLogs found = descend(from);
      const double reached = cost(found);
      if (reached < lowest - 1e-9) {
        lowest = reached;
        best = found;
      }
    }
    return best;
  }

 private:
  struct Entry {
    Curve curve;
    double bandwidth;
    double cap;
    double fill_share;
    double floor_factor;
    Bytes size;
    double log_bus;
    double weight;
  };

  double residual(Entry& entry, const CurveConstants& constants) const {
    entry.curve.floor_s = constants.floor_s * entry.floor_factor;
    entry.curve.bandwidth = std::min(constants.bandwidth * entry.bandwidth, entry.cap);
    CurveLevel& level = entry.curve.levels.front();
    level.hop_s = constants.hop_s;
    level.fill_s = entry.fill_share * constants.fill_s;
    level.fill_bytes = constants.fill_bytes;
    return (std::log(entry.curve.bus_bandwidth(entry.size).si()) - entry.log_bus) / scale_;
  }

  double cost(const CurveLogs& logs) {
    const CurveConstants constants = from_logs(logs);
    double sum = 0.0;
    for (Entry& entry : entries_) {
      const double r = residual(entry, constants);
      sum += entry.weight * std::log1p(r * r);
    }
    for (std::size_t j = 0; j < kCurveUnknowns; ++j) {
      const double away = (logs[j] - mean_[j]) / deviation_[j];
      sum += away * away;
    }
    return sum;
  }

  void normal_equations(const CurveLogs& logs, Matrix& matrix, CurveLogs& gradient) {
    constexpr double kStep = 1e-4;
    matrix = Matrix{};
    gradient = CurveLogs{};
    const CurveConstants constants = from_logs(logs);
    std::array<CurveConstants, kCurveUnknowns> moved{};
    for (std::size_t j = 0; j < kCurveUnknowns; ++j) {
      CurveLogs shifted = logs;
      shifted[j] += kStep;
      moved[j] = from_logs(shifted);
    }
    for (Entry& entry : entries_) {
      const double r = residual(entry, constants);
      const double weight = entry.weight / (1.0 + r * r);
      CurveLogs slope{};
      for (std::size_t j = 0; j < kCurveUnknowns; ++j) {
        slope[j] = (residual(entry, moved[j]) - r) / kStep;
      }
      for (std::size_t i = 0; i < kCurveUnknowns; ++i) {
        gradient[i] += weight * slope[i] * r;
        for (std::size_t j = 0; j < kCurveUnknowns; ++j) {
          matrix[i][j] += weight * slope[i] * slope[j];
        }
      }
    }
    for (std::size_t j = 0; j < kCurveUnknowns; ++j) {
      const double precision = 1.0 / (deviation_[j] * deviation_[j]);
      gradient[j] += (logs[j] - mean_[j]) * precision;
      matrix[j][j] += precision;
    }
  }

  CurveLogs descend(CurveLogs logs) {
    double damping = 1e-2;
    double current = cost(logs);
    Matrix matrix{};
    CurveLogs gradient{};
    for (int step = 0; step < kSteps && damping < 1e8; ++step) {
      normal_equations(logs, matrix, gradient);
      bool moved = false;
      while (!moved && damping < 1e8) {
        Matrix damped = matrix;
        for (std::size_t j = 0; j < kCurveUnknowns; ++j) {
          damped[j][j] *= 1.0 + damping;
        }
        const CurveLogs direction = solve(damped, gradient);
        CurveLogs trial = logs;
        double length = 0.0;
        for (std::size_t j = 0; j < kCurveUnknowns; ++j) {
          trial[j] -= direction[j];
          length = std::max(length, std::abs(direction[j]));
        }
        const double reached = cost(trial);
        if (reached < current) {
          logs = trial;
          damping = std::max(damping * 0.3, 1e-9);
          moved = true;
          current = reached;
        } else {
          damping *= 4.0;
        }
        if (length < kStill) {
          return logs;
        }
      }
    }
    return logs;
  }

  std::vector<Entry> entries_;
  CurveLogs mean_;
  CurveLogs deviation_;
  double scale_;
};

using ByClass = std::map<std::string, std::vector<const FitObservation*>>;

ByClass by_class(const std::vector<FitObservation>& observations) {
  ByClass groups;
  for (const FitObservation& observation : observations) {
    groups[observation.shape.curve_class()].push_back(&observation);
  }
  return groups;
}

CurveTable starting_table(const ByClass& groups, const CurvePriors& priors) {
  CurveTable table;
  table.families = priors.families;
  table.sharpness = priors.sharpness;
  table.framework_floor = priors.framework_floor;
  for (const auto& [name, observations] : groups) {
    ClassCurve& curve = table.classes[name];
    curve.family = observations.front()->shape.family();
    curve.constants = table.families.at(curve.family);
    curve.points = static_cast<int>(observations.size());
    std::set<std::string> series;
    std::set<std::string> sources;
    for (const FitObservation* observation : observations) {
      series.insert(observation->series);
      sources.insert(observation->source);
    }
    curve.series.assign(series.begin(), series.end());
    curve.sources.assign(sources.begin(), sources.end());
  }
  return table;
}

// mu of each family, given its classes.
void update_families(CurveTable& table, const CurvePriors& priors) {
  for (auto& [name, constants] : table.families) {
    const CurveLogs prior = to_logs(priors.families.at(name));
    CurveLogs mean{};
    for (std::size_t j = 0; j < kCurveUnknowns; ++j) {
      const double class_precision = 1.0 / std::pow(priors.class_deviation[j], 2);
      double precision = 1.0 / std::pow(priors.family_deviation[j], 2);
      double sum = prior[j] * precision;
      for (const auto& [key, curve] : table.classes) {
        if (curve.family == name) {
          sum += class_precision * to_logs(curve.constants)[j];
          precision += class_precision;
        }
      }
      mean[j] = sum / precision;
    }
    constants = from_logs(mean);
  }
}

// The factor on H of a training loop: one unknown, by golden section.
void update_framework_floor(CurveTable& table, const CurvePriors& priors,
                            const std::vector<FitObservation>& observations) {
  const auto cost = [&](double log_factor) {
    table.framework_floor = std::exp(log_factor);
    double sum = std::pow((log_factor - std::log(priors.framework_floor)) / priors.framework_deviation, 2);
    for (const FitObservation& observation : observations) {
      if (observation.shape.framework) {
        sum += observation.weight * std::log1p(std::pow(log_ratio(observation, table) / priors.scale, 2));
      }
    }
    return sum;
  };
  constexpr double kGolden = 0.6180339887498949;
  double low = std::log(0.7);
  double high = std::log(4.0);
  double inner_low = high - kGolden * (high - low);
  double inner_high = low + kGolden * (high - low);
  double cost_low = cost(inner_low);
  double cost_high = cost(inner_high);
  while (high - low > 1e-4) {
    if (cost_low < cost_high) {
      high = inner_high;
      inner_high = inner_low;
      cost_high = cost_low;
      inner_low = high - kGolden * (high - low);
      cost_low = cost(inner_low);
    } else {
      low = inner_low;
      inner_low = inner_high;
      cost_low = cost_high;
      inner_high = low + kGolden * (high - low);
      cost_high = cost(inner_high);
    }
  }
  table.framework_floor = std::exp(0.5 * (low + high));
}

// Of |values|; the half-width that 4 of 5 stay inside.
double four_fifths(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const double place = 0.8 * static_cast<double>(values.size()) - 0.5;
  const double at = std::clamp(place, 0.0, static_cast<double>(values.size() - 1));
  const auto below = static_cast<std::size_t>(at);
  const std::size_t above = std::min(below + 1, values.size() - 1);
  return values[below] + (at - static_cast<double>(below)) * (values[above] - values[below]);
}

struct Residual {
  double size = 0.0;
  double value = 0.0;  // |log(predicted / measured)|
};

// Bands of sizes with few residuals take those of all sizes.
Bands bands_of(const std::vector<Residual>& residuals, std::size_t fewest, double otherwise) {
  std::vector<double> all;
  std::array<std::vector<double>, kBands> by_band;
  for (const Residual& residual : residuals) {
    all.push_back(residual.value);
    by_band.at(static_cast<std::size_t>(band_of(residual.size))).push_back(residual.value);
  }
  const double general = all.size() < fewest ? otherwise : four_fifths(all);
  Bands bands{};
  for (std::size_t band = 0; band < kBands; ++band) {
    bands.at(band) = by_band.at(band).size() < fewest ? general : four_fifths(by_band.at(band));
  }
  return bands;
}

constexpr double kLeastBand = 0.01;   // nccl-tests repeats to about 1 %
constexpr double kUnknownBand = 0.5;  // where nothing was ever left out
constexpr std::size_t kFewestOwn = 5;
constexpr std::size_t kFewestOthers = 8;

void set_own_bands(CurveTable& table, const ByClass& groups) {
  std::vector<Residual> all;
  for (const auto& [name, observations] : groups) {
    for (const FitObservation* observation : observations) {
      all.push_back({observation->size.si(), std::abs(log_ratio(*observation, table))});
    }
  }
  const Bands pooled = bands_of(all, kFewestOwn, kUnknownBand);
  for (const auto& [name, observations] : groups) {
    std::vector<Residual> own;
    for (const FitObservation* observation : observations) {
      own.push_back({observation->size.si(), std::abs(log_ratio(*observation, table))});
    }
    Bands bands = bands_of(own, kFewestOwn, -1.0);
    for (std::size_t band = 0; band < kBands; ++band) {
      bands.at(band) = std::max(bands.at(band) < 0.0 ? pooled.at(band) : bands.at(band), kLeastBand);
    }
    table.classes.at(name).band = bands;
  }
}

}  // namespace

CurveTable fit_curves(const std::vector<FitObservation>& observations, const CurvePriors& priors) {
  const ByClass groups = by_class(observations);
  CurveTable table = starting_table(groups, priors);
  for (int sweep = 0; sweep < kSweeps; ++sweep) {
    for (const auto& [name, members] : groups) {
      const CurveLogs mean = to_logs(table.families.at(table.classes.at(name).family));
      const CurveLogs start = to_logs(table.classes.at(name).constants);
      table.classes.at(name).constants = from_logs(ClassFit(members, table, priors, mean).best(start));
    }
    update_families(table, priors);
    update_framework_floor(table, priors, observations);
  }
  set_own_bands(table, groups);
  return table;
}

std::vector<LeftOut> leave_one_source_out(const std::vector<FitObservation>& observations, const CurvePriors& priors) {
  std::set<std::string> sources;
  for (const FitObservation& observation : observations) {
    sources.insert(observation.source);
  }
  std::vector<LeftOut> result(observations.size());
  for (const std::string& source : sources) {
    std::vector<FitObservation> others;
    std::copy_if(observations.begin(), observations.end(), std::back_inserter(others),
                 [&](const FitObservation& observation) { return observation.source != source; });
    const CurveTable table = fit_curves(others, priors);
    for (std::size_t i = 0; i < observations.size(); ++i) {
      if (observations[i].source == source) {
        const bool known = table.classes.contains(observations[i].shape.curve_class());
        result[i] = {log_ratio(observations[i], table), known ? CurveEvidence::kSameClass : CurveEvidence::kBorrowed};
      }
    }
  }
  return result;
}

namespace {

// Residuals of each series under its class refitted without it, where its source has another in the class. The
// families stay: one series barely moves them.
std::vector<Residual> leave_one_series_out(const std::vector<FitObservation>& observations, const CurveTable& table,
                                           const CurvePriors& priors) {
  std::vector<Residual> residuals;
  for (const auto& [name, members] : by_class(observations)) {
    const ClassCurve& curve = table.classes.at(name);
    const CurveLogs mean = to_logs(table.families.at(curve.family));
    for (const std::string& series : curve.series) {
      std::vector<const FitObservation*> others;
      std::vector<const FitObservation*> left_out;
      for (const FitObservation* member : members) {
        (member->series == series ? left_out : others).push_back(member);
      }
      const bool source_known = std::any_of(others.begin(), others.end(), [&](const FitObservation* other) {
        return other->source == left_out.front()->source;
      });
      if (!source_known) {
        continue;
      }
      CurveTable without = table;
      without.classes.at(name).constants =
          from_logs(ClassFit(others, table, priors, mean).best(to_logs(curve.constants)));
      for (const FitObservation* member : left_out) {
        residuals.push_back({member->size.si(), std::abs(log_ratio(*member, without))});
      }
    }
  }
  return residuals;
}

}  // namespace

CurveTable fit_with_bands(const std::vector<FitObservation>& observations, const CurvePriors& priors) {
  CurveTable table = fit_curves(observations, priors);
  const std::vector<LeftOut> left_out = leave_one_source_out(observations, priors);
  std::vector<Residual> same_class;
  std::vector<Residual> borrowed;
  for (std::size_t i = 0; i < observations.size(); ++i) {
    (left_out[i].evidence == CurveEvidence::kSameClass ? same_class : borrowed)
        .push_back({observations[i].size.si(), std::abs(left_out[i].log_error)});
  }
  table.same_source = bands_of(leave_one_series_out(observations, table, priors), kFewestOthers, kUnknownBand);
  table.same_class = bands_of(same_class, kFewestOthers, kUnknownBand);
  table.borrowed = bands_of(borrowed, kFewestOthers, kUnknownBand);
  return table;
}

CurveTable anchored(const CurveTable& table, const std::vector<FitObservation>& own) {
  // A log of the very system says more than its class: the prior only holds what the log's sizes don't show.
  constexpr double kFreedom = 4.0;
  CurvePriors priors = default_priors();
  for (double& deviation : priors.class_deviation) {
    deviation *= kFreedom;
  }
  const ByClass groups = by_class(own);
  CurveTable result = table;
  for (const auto& [name, members] : groups) {
    const std::string& family = members.front()->shape.family();
    const CurveLogs mean = to_logs(constants_for(table, name, family));
    ClassCurve& curve = result.classes[name];
    curve.family = family;
    curve.constants = from_logs(mean);
    curve.constants = from_logs(ClassFit(members, result, priors, mean).best(mean));
    curve.series = {members.front()->series};
    curve.sources = {members.front()->source};
    curve.points = static_cast<int>(members.size());
    curve.anchored = true;
  }
  set_own_bands(result, groups);
  return result;
}

}  // namespace trainyard::simulator
