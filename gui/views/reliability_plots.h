// What the Reliability dock draws, from a study of one job.
#pragma once

#include <QString>
#include <vector>

#include "gui/models/value_table.h"
#include "gui/paint/bar_rows.h"
#include "gui/paint/line_chart.h"
#include "gui/paint/theme.h"
#include "gui/views/why_rows.h"
#include "simulator/failure/reliability_study.h"

namespace trainyard::gui {

// Goodput against the interval between saves: the best marked, the range in which it hardly matters shaded, and at the
// job's own interval what the inputs' published ranges allow.
LinePlot interval_plot(const simulator::ReliabilityStudy& study, const Theme& theme);

// Mean time between failures against ranks; the band is how far fleets lie apart.
LinePlot scale_plot(const simulator::ReliabilityStudy& study, std::int64_t own_ranks, const Theme& theme);

// Work in the state over a simulated month, and what the time goes to along the foot.
LinePlot month_plot(const simulator::ReliabilityStudy& study, const Theme& theme);

// Days to the plan's tokens, and goodput, over simulated runs: P10 to P90 with the median.
struct SpreadRows {
  Axis axis;
  std::vector<BarRow> rows;
  QString note;  // runs, and those that gave up
};
SpreadRows spread_rows(const simulator::ReliabilityStudy& study, const Theme& theme);

// From all of the wall clock down to what is useful.
WaterfallRows waste_rows(const simulator::ReliabilityStudy& study, const Theme& theme);

void fill_table(ValueTable& table, const simulator::ReliabilityStudy& study);

Category category_of(const Theme& theme, simulator::TimeUse use);

}  // namespace trainyard::gui
