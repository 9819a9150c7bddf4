#include "gui/views/memory_rows.h"

#include <QCoreApplication>
#include <algorithm>

#include "core/units/format_quantity.h"
#include "gui/views/term_explanations.h"
#include "simulator/memory/memory_over_step.h"

namespace trainyard::gui {

namespace {

QString tr(const char* text) { return QCoreApplication::translate("MemoryRows", text); }

QString size_text(ByteCount bytes) { return QString::fromStdString(format_quantity(bytes)); }

double amount(ByteCount bytes) { return static_cast<double>(bytes.value()); }

template <class Cause>
MemoryPart part_of(Cause cause, ByteCount bytes) {
  const Explanation explanation = explanation_of(cause);
  return {explanation.name, explanation.meaning, bytes, static_cast<std::size_t>(cause)};
}

QString ranks_text(std::int64_t first, std::int64_t count) {
  return count == 1 ? tr("rank %1").arg(first) : tr("%1 ranks from rank %2 on").arg(count).arg(first);
}

QString tip_of(const MemoryStack& stack, const MemoryPart& part, ByteCount capacity) {
  return QStringLiteral("%1\n%2: %3\n%4\n%5")
      .arg(stack.name, part.name,
           tr("%1 (%2 B), %3 of what the rank needs, %4 of what it has")
               .arg(size_text(part.bytes))
               .arg(part.bytes.value())
               .arg(with_unit(amount(part.bytes) / amount(stack.total), Unit::kShare),
                    with_unit(amount(part.bytes) / amount(capacity), Unit::kShare)),
           part.meaning, stack.ranks);
}

// The part within the capacity as it is, what lies beyond in red.
void add_bars(std::vector<Bar>& bars, double from, const MemoryStack& stack, const MemoryPart& part, ByteCount capacity,
              const Theme& theme) {
  const double to = from + amount(part.bytes);
  const double limit = amount(capacity);
  const QString tip = tip_of(stack, part, capacity);
  const int id = static_cast<int>(part.place);
  if (from < limit) {
    bars.push_back({from, std::min(to, limit), theme.category(part.place), tip, id});
  }
  if (to > limit) {
    bars.push_back({std::max(from, limit), to, {theme.bad, theme.category(part.place).hatch}, tip, id});
  }
}

std::vector<LegendEntry> legend_of(const std::vector<MemoryStack>& stacks, const Theme& theme) {
  std::vector<const MemoryPart*> parts;
  for (const MemoryStack& stack : stacks) {
    for (const MemoryPart& part : stack.parts) {
      if (std::none_of(parts.begin(), parts.end(), [&](const MemoryPart* seen) { return seen->place == part.place; })) {
        parts.push_back(&part);
      }
    }
  }
  std::sort(parts.begin(), parts.end(), [](const MemoryPart* a, const MemoryPart* b) { return a->place < b->place; });
  std::vector<LegendEntry> legend;
  for (const MemoryPart* part : parts) {
    legend.push_back({part->name, theme.category(part->place), LegendMark::kFill});
  }
  return legend;
}

}  // namespace

MemoryStack stack_of(const simulator::MemoryPrice& price, std::int64_t ranks_per_stage) {
  MemoryStack stack;
  stack.name = tr("stage %1").arg(price.stage);
  stack.ranks = ranks_text(price.stage * ranks_per_stage, ranks_per_stage);
  stack.total = price.total;
  for (int use = 0; use < simulator::kMemoryUses; ++use) {
    const auto cause = static_cast<simulator::MemoryUse>(use);
    if (price.of(cause).value() > 0) {
      stack.parts.push_back(part_of(cause, price.of(cause)));
    }
  }
  return stack;
}

MemoryStack stack_of(const simulator::RoleMemory& memory, std::int64_t ranks) {
  MemoryStack stack;
  stack.name = tr("stage %1, rank %2").arg(memory.stage).arg(memory.representative.value());
  stack.ranks = ranks_text(memory.representative.value(), ranks);
  stack.total = memory.total;
  for (int cause = 0; cause < kMemoryCauses; ++cause) {
    const ByteCount bytes = memory.by_cause.at(static_cast<std::size_t>(cause));
    if (bytes.value() > 0) {
      stack.parts.push_back(part_of(static_cast<MemoryCause>(cause), bytes));
    }
  }
  return stack;
}

MemoryRows memory_rows(const std::vector<MemoryStack>& stacks, ByteCount capacity, const Theme& theme) {
  MemoryRows result;
  result.legend = legend_of(stacks, theme);
  double most = 0.0;
  for (const MemoryStack& stack : stacks) {
    BarRow row;
    row.name = stack.name;
    row.lines.emplace_back();
    double from = 0.0;
    for (const MemoryPart& part : stack.parts) {
      add_bars(row.lines.front(), from, stack, part, capacity, theme);
      from += amount(part.bytes);
    }
    most = std::max(most, from);
    row.warns = stack.total > capacity;
    row.values = {
        row.warns ? tr("%1, %2 missing").arg(size_text(stack.total), size_text(stack.total - capacity))
                  : QStringLiteral("%1 \u00b7 %2")
                        .arg(size_text(stack.total), with_unit(amount(stack.total) / amount(capacity), Unit::kShare))};
    result.rows.push_back(std::move(row));
  }
  // Of a device that is far from full the bars would be too short to see.
  constexpr double kSmall = 0.1;
  const bool small = most > 0.0 && most < kSmall * amount(capacity);
  result.axis = Axis{tr("memory of a rank"), 0.0, (small ? most : std::max(most, amount(capacity))) * 1.04,
                     Scale::kLinear, Unit::kBytes};
  return result;
}

AreaPlot memory_plot(const Role& role, const simulator::RoleMemory& memory, const Trace& trace, ByteCount capacity,
                     const Theme& theme) {
  AreaPlot plot;
  const std::vector<simulator::MemoryMoment> moments =
      simulator::memory_over_step(role, simulator::times_of(role, trace));
  // Causes that don't change lie lowest.
  std::vector<MemoryCause> causes = {MemoryCause::kRuntime, MemoryCause::kFragmentation};
  for (int cause = 0; cause < kMemoryCauses; ++cause) {
    const auto at = static_cast<std::size_t>(cause);
    const bool held = std::any_of(moments.begin(), moments.end(),
                                  [&](const auto& moment) { return moment.by_cause.at(at).value() > 0; });
    if (held) {
      causes.push_back(static_cast<MemoryCause>(cause));
    }
  }
  for (const MemoryCause cause : causes) {
    plot.causes.push_back(
        {explanation_of(cause).name, theme.category(static_cast<std::size_t>(cause)), LegendMark::kFill});
  }
  double most = amount(capacity);
  for (const simulator::MemoryMoment& moment : moments) {
    AreaMoment shown{to_seconds(moment.at).si(), {}};
    for (std::size_t i = 0; i < causes.size(); ++i) {
      const auto at = static_cast<std::size_t>(causes[i]);
      shown.amounts.push_back(amount(i < 2 ? memory.by_cause.at(at) : moment.by_cause.at(at)));
    }
    most = std::max(most, total(shown));
    plot.moments.push_back(std::move(shown));
  }
  plot.title = tr("Memory of rank %1 over a step").arg(role.representative.value());
  plot.x = Axis{tr("time of the step"), 0.0, std::max(1e-9, plot.moments.back().at), Scale::kLinear, Unit::kTime};
  plot.y = Axis{tr("memory"), 0.0, most * 1.06, Scale::kLinear, Unit::kBytes};
  plot.limit = amount(capacity);
  plot.limit_name = tr("capacity %1").arg(size_text(capacity));
  return plot;
}

void fill_table(ValueTable& table, const std::vector<MemoryStack>& stacks, ByteCount capacity) {
  std::vector<TableRow> rows;
  for (const MemoryStack& stack : stacks) {
    for (const MemoryPart& part : stack.parts) {
      rows.push_back({{stack.name, std::nullopt},
                      {part.name, std::nullopt},
                      {size_text(part.bytes), amount(part.bytes)},
                      {with_unit(amount(part.bytes) / amount(stack.total), Unit::kShare),
                       amount(part.bytes) / amount(stack.total)},
                      {part.meaning, std::nullopt}});
    }
    rows.push_back(
        {{stack.name, std::nullopt},
         {tr("total"), std::nullopt},
         {size_text(stack.total), amount(stack.total)},
         {tr("%1 of capacity").arg(with_unit(amount(stack.total) / amount(capacity), Unit::kShare)), 1.0},
         {stack.total > capacity ? tr("%1 missing").arg(size_text(stack.total - capacity)) : QString(), std::nullopt}});
  }
  table.set({tr("Stage"), tr("Cause"), tr("Bytes"), tr("Share"), tr("What it is")}, std::move(rows));
}

}  // namespace trainyard::gui
