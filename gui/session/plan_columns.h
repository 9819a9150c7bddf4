// The numbers and words of a plan that tables show, charts draw and filters go by: one list for all views.
#pragma once

#include <QString>
#include <cstdint>
#include <vector>

#include "gui/session/plan_row.h"

namespace trainyard::gui {

enum class PlanColumn : std::uint8_t {
  kLayout,
  kStepTime,  // ms in values
  kTokensPerSecond,
  kMfu,            // %
  kMemory,         // GiB
  kBubble,         // %
  kCommunication,  // %
  kGoodput,        // %
  kTokensPerDay,   // billions
  kCost,           // of a billion tokens
  kTensor,
  kContext,
  kPipeline,
  kData,
  kExpert,
  kZero,
  kMicroBatch,
  kAccumulation,
  kSchedule,  // place in ScheduleKind
  kChunks,
  kRecompute,  // 0 none, 1 selective, 2 full
};
constexpr int kPlanColumns = static_cast<int>(PlanColumn::kRecompute) + 1;

QString title_of(PlanColumn column);    // "Step time"
QString unit_of(PlanColumn column);     // "ms"; empty: none
QString meaning_of(PlanColumn column);  // a sentence for tooltips
bool is_degree(PlanColumn column);      // a choice of the layout, not a result
bool smaller_is_better(PlanColumn column);

// NaN where the row has none. Of kLayout its place is the caller's.
double value_of(const PlanRow& row, PlanColumn column);
QString text_of(const PlanRow& row, PlanColumn column);  // with its unit
QString value_text(PlanColumn column, double value);     // a value of that column, with its unit

}  // namespace trainyard::gui
