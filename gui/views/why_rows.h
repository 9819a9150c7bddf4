// What the Why dock draws, from plain values: a waterfall of one plan or two, and the differences between two.
#pragma once

#include <QString>
#include <vector>

#include "gui/models/value_table.h"
#include "gui/paint/bar_rows.h"
#include "gui/paint/theme.h"
#include "simulator/planner/goodput_waterfall.h"

namespace trainyard::gui {

// Ids of bars: a cause as a number, and back.
int id_of(const simulator::WaterfallCause& cause);
simulator::WaterfallCause cause_of(int id);
constexpr int kWholeId = 1000;           // the sum
constexpr int kRestId = 1001;            // causes too small for a row of their own, together
constexpr int kRestDifferenceId = 1002;  // differences likewise, which may be of other causes

// Compute, communication, pipeline, update, failures: colours by what a part is about.
Category category_of(const Theme& theme, const simulator::WaterfallCause& cause);
std::vector<LegendEntry> waterfall_legend(const Theme& theme);

struct NamedWaterfall {
  QString name;  // "A", or empty for a single one
  simulator::GoodputWaterfall waterfall;
};

// Rows from the ideal down to the whole, whose bar is the sum of all above. Of two plans two lines a row. Where there
// are more rows than `most`, the smallest causes share one.
struct WaterfallRows {
  Axis axis;
  std::vector<BarRow> rows;
  std::vector<simulator::WaterfallCause> gathered;  // that share a row, the largest first
};
constexpr int kAllRows = 1 << 20;
WaterfallRows waterfall_rows(const std::vector<NamedWaterfall>& waterfalls, const Theme& theme, int most = kAllRows);

// b against a, the largest first; the last row is the sum, which is the difference of the walls.
WaterfallRows difference_rows(const NamedWaterfall& a, const NamedWaterfall& b, const Theme& theme,
                              int most = kAllRows);

// "12 % slower than the best: + 8 % pipeline bubble, + 5 % ...; - 1 % ..."
QString why_slower(const simulator::GoodputWaterfall& best, const simulator::GoodputWaterfall& other);

// The twin: part, time, share, of each.
void fill_table(ValueTable& table, const std::vector<NamedWaterfall>& waterfalls);

}  // namespace trainyard::gui
