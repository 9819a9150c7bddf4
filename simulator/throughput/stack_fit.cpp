#include "simulator/throughput/stack_fit.h"

#include <algorithm>
#include <cmath>

namespace trainyard::simulator {

namespace {

constexpr double kScale = 0.06;
constexpr double kStep = 1e-3;
constexpr int kSteps = 12;
constexpr std::size_t kUnknowns = kStackConstants;

using Matrix = std::array<StackLogs, kUnknowns>;

// Gaussian elimination with pivots; the matrix is positive definite but for rounding.
StackLogs solve(Matrix matrix, StackLogs right) {
  for (std::size_t column = 0; column < kUnknowns; ++column) {
    std::size_t pivot = column;
    for (std::size_t row = column + 1; row < kUnknowns; ++row) {
      if (std::abs(matrix[row][column]) > std::abs(matrix[pivot][column])) {
        pivot = row;
      }
    }
    std::swap(matrix[column], matrix[pivot]);
    std::swap(right[column], right[pivot]);
    for (std::size_t row = column + 1; row < kUnknowns; ++row) {
      const double factor = matrix[row][column] / matrix[column][column];
      for (std::size_t k = column; k < kUnknowns; ++k) {
        matrix[row][k] -= factor * matrix[column][k];
      }
      right[row] -= factor * right[column];
    }
  }
  StackLogs result{};
  for (std::size_t row = kUnknowns; row-- > 0;) {
    double sum = right[row];
    for (std::size_t k = row + 1; k < kUnknowns; ++k) {
      sum -= matrix[row][k] * result[k];
    }
    result[row] = sum / matrix[row][row];
  }
  return result;
}

class StackFit {
 public:
  StackFit(const std::vector<StackFitRow>& rows, StackProfile profile, const StackLogs& mean, const StackPriors& priors)
      : rows_(rows), profile_(std::move(profile)), mean_(mean), priors_(priors) {}

  StackLogs descend(StackLogs logs) {
    clamp(logs);
    double damping = 1e-2;
    std::vector<double> residuals = residuals_at(logs);
    double current = cost(residuals, logs);
    for (int step = 0; step < kSteps && damping < 1e6; ++step) {
      Matrix matrix{};
      StackLogs gradient{};
      normal_equations(logs, residuals, matrix, gradient);
      bool moved = false;
      while (!moved && damping < 1e6) {
        Matrix damped = matrix;
        for (std::size_t j = 0; j < kUnknowns; ++j) {
          damped[j][j] *= 1.0 + damping;
        }
        const StackLogs direction = solve(damped, gradient);
        StackLogs trial = logs;
        double length = 0.0;
        for (std::size_t j = 0; j < kUnknowns; ++j) {
          trial[j] -= std::clamp(direction[j], -0.7, 0.7);
          length = std::max(length, std::abs(direction[j]));
        }
        clamp(trial);
        std::vector<double> tried = residuals_at(trial);
        const double reached = cost(tried, trial);
        if (reached < current) {
          logs = trial;
          residuals = std::move(tried);
          current = reached;
          damping = std::max(damping * 0.3, 1e-6);
          moved = true;
        } else {
          damping *= 5.0;
        }
        if (length < 1e-3) {
          return logs;
        }
      }
    }
    return logs;
  }

 private:
  void clamp(StackLogs& logs) const {
    for (std::size_t j = 0; j < kUnknowns; ++j) {
      logs[j] =
          std::clamp(logs[j], std::log(std::max(priors_.at(j).low, kLeastConstant)), std::log(priors_.at(j).high));
    }
  }

  std::vector<double> residuals_at(const StackLogs& logs) {
    for (std::size_t j = 0; j < kUnknowns; ++j) {
      profile_.constants.at(j) = std::exp(logs[j]);
    }
    std::vector<double> residuals;
    residuals.reserve(rows_.size());
    for (const StackFitRow& row : rows_) {
      residuals.push_back(std::log(row.pricer->step_s(profile_) / row.measured_s) / kScale);
    }
    return residuals;
  }

  double cost(const std::vector<double>& residuals, const StackLogs& logs) const {
    double sum = 0.0;
    for (std::size_t i = 0; i < residuals.size(); ++i) {
      sum += rows_[i].weight * 2.0 * (std::sqrt(1.0 + residuals[i] * residuals[i]) - 1.0);
    }
    for (std::size_t j = 0; j < kUnknowns; ++j) {
      const double away = (logs[j] - mean_[j]) / priors_.at(j).stack;
      sum += away * away;
    }
    return sum;
  }

  void normal_equations(const StackLogs& logs, const std::vector<double>& residuals, Matrix& matrix,
                        StackLogs& gradient) {
    std::array<std::vector<double>, kUnknowns> slopes;
    for (std::size_t j = 0; j < kUnknowns; ++j) {
      StackLogs shifted = logs;
      shifted[j] += kStep;
      slopes[j] = residuals_at(shifted);
      for (std::size_t i = 0; i < residuals.size(); ++i) {
        slopes[j][i] = (slopes[j][i] - residuals[i]) / kStep;
      }
    }
    for (std::size_t i = 0; i < residuals.size(); ++i) {
      const double weight = rows_[i].weight / std::sqrt(1.0 + residuals[i] * residuals[i]);
      for (std::size_t j = 0; j < kUnknowns; ++j) {
        gradient[j] += weight * slopes[j][i] * residuals[i];
        for (std::size_t k = 0; k < kUnknowns; ++k) {
          matrix[j][k] += weight * slopes[j][i] * slopes[k][i];
        }
      }
    }
    for (std::size_t j = 0; j < kUnknowns; ++j) {
      const double precision = 1.0 / (priors_.at(j).stack * priors_.at(j).stack);
      gradient[j] += (logs[j] - mean_[j]) * precision;
      matrix[j][j] += precision;
    }
  }

  const std::vector<StackFitRow>& rows_;
  StackProfile profile_;
  const StackLogs& mean_;
  const StackPriors& priors_;
};

}  // namespace

StackLogs fit_stack(const std::vector<StackFitRow>& rows, const StackProfile& profile, const StackLogs& mean,
                    const StackPriors& priors, const StackLogs& start) {
  return StackFit(rows, profile, mean, priors).descend(start);
}

}  // namespace trainyard::simulator
