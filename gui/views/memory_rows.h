// What the Memory dock draws, from plain values: a stack of causes per stage against what a rank has, and the same over
// a step.
#pragma once

#include <QString>
#include <vector>

#include "core/plan/trace.h"
#include "core/program/program.h"
#include "gui/models/value_table.h"
#include "gui/paint/area_chart.h"
#include "gui/paint/bar_rows.h"
#include "gui/paint/theme.h"
#include "simulator/memory/memory_estimate.h"
#include "simulator/memory/memory_price.h"

namespace trainyard::gui {

struct MemoryPart {
  QString name;
  QString meaning;
  ByteCount bytes;
  std::size_t place = 0;  // of its colour
};

// Of one rank; ranks that hold the same share one.
struct MemoryStack {
  QString name;                   // "stage 3, rank 24"
  QString ranks;                  // which ranks these are, for the tip
  std::vector<MemoryPart> parts;  // without those of 0 bytes
  ByteCount total;                // sum of the parts
};

MemoryStack stack_of(const simulator::MemoryPrice& price, std::int64_t ranks_per_stage);
MemoryStack stack_of(const simulator::RoleMemory& memory, std::int64_t ranks);

struct MemoryRows {
  Axis axis;
  std::vector<BarRow> rows;
  std::vector<LegendEntry> legend;
};
// What lies beyond the capacity is drawn in the colour of what is wrong, with the amount that is missing. The axis goes
// to the capacity, unless the fullest takes less than a tenth of it.
MemoryRows memory_rows(const std::vector<MemoryStack>& stacks, ByteCount capacity, const Theme& theme);

// Over the trace of a step; fragmentation and runtime lie below, as they don't change.
AreaPlot memory_plot(const Role& role, const simulator::RoleMemory& memory, const Trace& trace, ByteCount capacity,
                     const Theme& theme);

void fill_table(ValueTable& table, const std::vector<MemoryStack>& stacks, ByteCount capacity);

}  // namespace trainyard::gui
