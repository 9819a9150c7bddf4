// TermExplanations: what a part of the step, a waste of the wall clock or a use of memory is, for people: a name that a
// newcomer can read, a sentence, the cost model's equation, the numbers that go into it here, and where it comes from.
// All texts in one table; equations as in docs/cost_model.md.
#pragma once

#include <QString>
#include <memory>
#include <vector>

#include "core/program/buffer.h"
#include "gui/session/plan_row.h"
#include "gui/session/problem.h"
#include "simulator/failure/reliability_study.h"
#include "simulator/memory/memory_price.h"
#include "simulator/planner/goodput_waterfall.h"

namespace trainyard::gui {

struct Explanation {
  QString name;
  QString meaning;
  QString formula;
  QString source;
};

Explanation explanation_of(const simulator::WaterfallCause& cause);
Explanation explanation_of(simulator::MemoryUse use);
Explanation explanation_of(MemoryCause cause);

struct TermNumber {
  QString name;
  QString value;   // with unit
  QString source;  // of a published number; may be empty
};

// What a waterfall's plan is made of. reliability: null without failures.
struct TermContext {
  const Problem& problem;
  const PlanRow& row;
  const simulator::GoodputWaterfall& waterfall;
  const simulator::ReliabilityStudy* reliability = nullptr;
};

// The part itself first, then what its equation names, as far as the plan says.
std::vector<TermNumber> numbers_of(const simulator::WaterfallCause& cause, const TermContext& context);

// As HTML for a panel: name, meaning, equation, numbers, source.
QString explanation_html(const Explanation& explanation, const std::vector<TermNumber>& numbers);

}  // namespace trainyard::gui
