// Statistics of predicted and measured rows: errors, ranks inside grids, baselines. See validate_throughput.h.
#pragma once

#include <vector>

#include "simulator/throughput/validate_throughput.h"

namespace trainyard::simulator {

double median(std::vector<double> values);  // 0 of none
// The half-width that 4 of 5 of |values| stay inside.
double four_fifths(std::vector<double> values);

// errors: predicted / measured - 1; inside: per row.
ErrorStatistics error_statistics(const std::vector<double>& errors, const std::vector<bool>& inside = {});

double spearman(const std::vector<double>& a, const std::vector<double>& b);
double kendall(const std::vector<double>& a, const std::vector<double>& b);

ThroughputSummary summarise(const std::vector<ThroughputCase>& cases, const std::vector<ThroughputRow>& rows);

}  // namespace trainyard::simulator
