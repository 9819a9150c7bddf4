// What the Explore dock draws, from plain rows: an axis for each column worth one, and two results against each other.
#pragma once

#include <optional>
#include <vector>

#include "gui/paint/parallel_axes.h"
#include "gui/paint/ramp_legend.h"
#include "gui/paint/scatter_chart.h"
#include "gui/session/plan_columns.h"
#include "gui/session/plan_row.h"

namespace trainyard::gui {

// Columns in which the rows differ as far as their texts show, degrees first; results that no row has are left out.
std::vector<PlanColumn> columns_of(const std::vector<const PlanRow*>& rows);
// Results among them: what an axis of the scatter or a shade can be.
std::vector<PlanColumn> metrics_of(const std::vector<const PlanRow*>& rows);

// "Step time (ms)"
QString heading_of(PlanColumn column);

// Of one column: its axis over the rows' values; degrees logarithmic with a tick each value, words as ticks.
ParallelAxis axis_of(const std::vector<const PlanRow*>& rows, PlanColumn column);

// By row, 0 to 1: the row's place among all from the worst in this column to the best; equal ones share theirs.
std::vector<double> shades_of(const std::vector<const PlanRow*>& rows, PlanColumn column);
// What those shades stand for; empty where all rows are equal.
RampLabels ramp_labels(const std::vector<const PlanRow*>& rows, PlanColumn column);

ParallelPlot parallel_plot(const std::vector<const PlanRow*>& rows, const std::vector<PlanColumn>& columns,
                           PlanColumn shade, const std::vector<char>& passes);
ScatterPlot scatter_plot(const std::vector<const PlanRow*>& rows, PlanColumn x, PlanColumn y, PlanColumn shade,
                         const std::vector<char>& passes);

// What a row's tip says: its words and results.
QString tip_of(const PlanRow& row, const std::vector<PlanColumn>& columns);

}  // namespace trainyard::gui
