#include "gui/views/why_rows.h"

#include <QCoreApplication>
#include <algorithm>
#include <cmath>
#include <iterator>

#include "core/units/format_quantity.h"
#include "gui/views/term_explanations.h"

namespace trainyard::gui {

namespace {

using simulator::GoodputWaterfall;
using simulator::StepLoss;
using simulator::TimeUse;
using simulator::WaterfallCause;

constexpr int kFirstUse = 100;
constexpr double kNamed = 0.002;  // a difference below this share of the step isn't put in words

QString tr(const char* text) { return QCoreApplication::translate("WhyRows", text); }

QString time_text(Seconds time) { return QString::fromStdString(format_quantity(time)); }

enum class Family : std::uint8_t { kIdeal, kCompute, kCommunication, kPipeline, kUpdate, kFailures };
constexpr int kFamilies = 6;

Family family_of(const WaterfallCause& cause) {
  const auto* loss = std::get_if<StepLoss>(&cause);
  if (loss == nullptr) {
    return Family::kFailures;
  }
  switch (*loss) {
    case StepLoss::kIdeal:
      return Family::kIdeal;
    case StepLoss::kGemm:
    case StepLoss::kAttention:
    case StepLoss::kElementwise:
    case StepLoss::kRecompute:
    case StepLoss::kHost:
      return Family::kCompute;
    case StepLoss::kTensor:
    case StepLoss::kContext:
    case StepLoss::kExpert:
    case StepLoss::kTransfer:
    case StepLoss::kGradient:
    case StepLoss::kParameter:
      return Family::kCommunication;
    case StepLoss::kBubble:
    case StepLoss::kImbalance:
      return Family::kPipeline;
    case StepLoss::kOptimizer:
    case StepLoss::kOffload:
    case StepLoss::kInput:
      return Family::kUpdate;
  }
  return Family::kCompute;
}

Category category_of(const Theme& theme, Family family) {
  if (family == Family::kIdeal) {
    return {theme.colours[2], Hatch::kNone};
  }
  constexpr std::array<std::size_t, kFamilies> kPlaces = {2, 0, 3, 5, 4, 1};
  return theme.category(kPlaces.at(static_cast<std::size_t>(family)));
}

// All causes that some waterfall has, in their own order.
std::vector<WaterfallCause> causes_in(const std::vector<NamedWaterfall>& waterfalls) {
  std::vector<int> ids;
  for (const NamedWaterfall& named : waterfalls) {
    for (const simulator::WaterfallPart& part : named.waterfall.parts) {
      ids.push_back(id_of(part.cause));
    }
  }
  std::sort(ids.begin(), ids.end());
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
  std::vector<WaterfallCause> causes;
  std::transform(ids.begin(), ids.end(), std::back_inserter(causes), cause_of);
  return causes;
}

QString value_text(const QString& name, Seconds time, double share) {
  const QString text = QStringLiteral("%1 \u00b7 %2").arg(time_text(time), with_unit(share, Unit::kShare));
  return name.isEmpty() ? text : name + QStringLiteral("  ") + text;
}

QString tip_of(const WaterfallCause& cause, const NamedWaterfall& named, Seconds time) {
  const Explanation explanation = explanation_of(cause);
  const QString plan = named.name.isEmpty() ? QString() : named.name + QStringLiteral(": ");
  return QStringLiteral("%1\n%2%3\n%4\n%5")
      .arg(explanation.name, plan,
           tr("%1 of a useful step's wall clock, %2")
               .arg(time_text(time), with_unit(time / named.waterfall.wall, Unit::kShare)),
           explanation.meaning, tr("Click for equation, numbers and source."));
}

}  // namespace

int id_of(const WaterfallCause& cause) {
  const auto* loss = std::get_if<StepLoss>(&cause);
  return loss != nullptr ? static_cast<int>(*loss) : kFirstUse + static_cast<int>(std::get<TimeUse>(cause));
}

WaterfallCause cause_of(int id) {
  if (id >= kFirstUse) {
    return static_cast<TimeUse>(id - kFirstUse);
  }
  return static_cast<StepLoss>(id);
}

Category category_of(const Theme& theme, const WaterfallCause& cause) { return category_of(theme, family_of(cause)); }

std::vector<LegendEntry> waterfall_legend(const Theme& theme) {
  return {{tr("ideal"), category_of(theme, Family::kIdeal), LegendMark::kFill},
          {tr("compute"), category_of(theme, Family::kCompute), LegendMark::kFill},
          {tr("communication"), category_of(theme, Family::kCommunication), LegendMark::kFill},
          {tr("pipeline"), category_of(theme, Family::kPipeline), LegendMark::kFill},
          {tr("update"), category_of(theme, Family::kUpdate), LegendMark::kFill},
          {tr("failures"), category_of(theme, Family::kFailures), LegendMark::kFill}};
}

WaterfallRows waterfall_rows(const std::vector<NamedWaterfall>& waterfalls, const Theme& theme) {
  WaterfallRows result;
  double longest = 0.0;
  for (const NamedWaterfall& named : waterfalls) {
    longest = std::max(longest, named.waterfall.wall.si());
  }
  result.axis = Axis{tr("wall clock of a useful step"), 0.0, longest * 1.02, Scale::kLinear, Unit::kTime};
  std::vector<double> reached(waterfalls.size(), 0.0);
  for (const WaterfallCause& cause : causes_in(waterfalls)) {
    BarRow row;
    row.name = explanation_of(cause).name;
    row.linked = true;
    for (std::size_t i = 0; i < waterfalls.size(); ++i) {
      const GoodputWaterfall& waterfall = waterfalls[i].waterfall;
      const Seconds time = waterfall.of(cause);
      row.lines.push_back({Bar{reached[i], reached[i] + time.si(), category_of(theme, cause),
                               tip_of(cause, waterfalls[i], time), id_of(cause)}});
      row.values.push_back(value_text(waterfalls[i].name, time, time / waterfall.wall));
      reached[i] += time.si();
    }
    result.rows.push_back(std::move(row));
  }
  BarRow whole;
  whole.name = tr("Wall clock of a useful step");
  whole.emphasised = true;
  for (const NamedWaterfall& named : waterfalls) {
    const QString tip = tr("%1: the sum of all parts. The step itself takes %2; goodput %3.")
                            .arg(time_text(named.waterfall.wall), time_text(named.waterfall.step),
                                 with_unit(named.waterfall.goodput, Unit::kShare));
    whole.lines.push_back({Bar{0.0, named.waterfall.wall.si(), {theme.axis, Hatch::kNone}, tip, kWholeId}});
    whole.values.push_back(value_text(named.name, named.waterfall.wall, 1.0));
  }
  result.rows.push_back(std::move(whole));
  return result;
}

WaterfallRows difference_rows(const NamedWaterfall& a, const NamedWaterfall& b, const Theme& theme) {
  WaterfallRows result;
  const Category slower{theme.bad, Hatch::kRising};
  const Category faster{theme.good, Hatch::kNone};
  const auto row_of = [&](const QString& name, Seconds one, Seconds other, int id, const QString& tip) {
    const double change = (other - one).si();
    BarRow row;
    row.name = name;
    row.lines = {{Bar{0.0, change, change > 0.0 ? slower : faster, tip, id}}};
    row.values = {QStringLiteral("%1%2 \u00b7 %3%4")
                      .arg(change > 0.0 ? QStringLiteral("+") : QStringLiteral("\u2212"),
                           time_text(from_si<Seconds>(std::abs(change))),
                           change > 0.0 ? QStringLiteral("+") : QStringLiteral("\u2212"),
                           with_unit(std::abs(change) / a.waterfall.wall.si(), Unit::kShare))};
    return row;
  };
  double most = 0.0;
  for (const simulator::WaterfallDifference& entry : differences(a.waterfall, b.waterfall)) {
    const Explanation explanation = explanation_of(entry.cause);
    const QString tip =
        QStringLiteral("%1\n%2: %3\n%4: %5\n%6")
            .arg(explanation.name, a.name, time_text(entry.a), b.name, time_text(entry.b), explanation.meaning);
    result.rows.push_back(row_of(explanation.name, entry.a, entry.b, id_of(entry.cause), tip));
    most = std::max(most, std::abs(entry.difference().si()));
  }
  const Seconds all = b.waterfall.wall - a.waterfall.wall;
  most = std::max({most, std::abs(all.si()), a.waterfall.wall.si() * 1e-3});
  BarRow whole = row_of(tr("Wall clock of a useful step"), a.waterfall.wall, b.waterfall.wall, kWholeId,
                        tr("The sum of all differences."));
  whole.emphasised = true;
  result.rows.push_back(std::move(whole));
  result.axis = Axis{tr("%1 against %2: longer to the right").arg(b.name, a.name), -1.05 * most, 1.05 * most,
                     Scale::kLinear, Unit::kTime};
  return result;
}

QString why_slower(const GoodputWaterfall& best, const GoodputWaterfall& other) {
  const double change = other.wall / best.wall - 1.0;
  QStringList words;
  for (const simulator::WaterfallDifference& entry : differences(best, other)) {
    const double share = entry.difference() / best.wall;
    if (std::abs(share) >= kNamed && words.size() < 6) {
      words << QStringLiteral("%1%2 %3").arg(share > 0.0 ? QStringLiteral("+") : QStringLiteral("\u2212"),
                                             with_unit(std::abs(share), Unit::kShare),
                                             explanation_of(entry.cause).name.toLower());
    }
  }
  const QString head = std::abs(change) < kNamed ? tr("About as fast as the best")
                                                 : tr("%1 %2 than the best")
                                                       .arg(with_unit(std::abs(change), Unit::kShare),
                                                            change > 0.0 ? tr("slower") : tr("faster"));
  return words.isEmpty() ? head + QLatin1Char('.')
                         : head + QStringLiteral(": ") + words.join(QStringLiteral(", ")) + QLatin1Char('.');
}

void fill_table(ValueTable& table, const std::vector<NamedWaterfall>& waterfalls) {
  QStringList headings = {tr("Part")};
  for (const NamedWaterfall& named : waterfalls) {
    const QString suffix = named.name.isEmpty() ? QString() : QStringLiteral(" ") + named.name;
    headings << tr("Time") + suffix << tr("Share of wall clock") + suffix;
  }
  headings << tr("What it is");
  std::vector<TableRow> rows;
  const auto cells = [](Seconds time, double share) {
    return TableRow{{time_text(time), time.si()}, {with_unit(share, Unit::kShare), share}};
  };
  for (const WaterfallCause& cause : causes_in(waterfalls)) {
    TableRow row = {{explanation_of(cause).name, std::nullopt}};
    for (const NamedWaterfall& named : waterfalls) {
      const Seconds time = named.waterfall.of(cause);
      for (TableCell& cell : cells(time, time / named.waterfall.wall)) {
        row.push_back(std::move(cell));
      }
    }
    row.push_back({explanation_of(cause).meaning, std::nullopt});
    rows.push_back(std::move(row));
  }
  TableRow whole = {{tr("Wall clock of a useful step"), std::nullopt}};
  for (const NamedWaterfall& named : waterfalls) {
    for (TableCell& cell : cells(named.waterfall.wall, 1.0)) {
      whole.push_back(std::move(cell));
    }
  }
  if (!waterfalls.empty()) {
    rows.push_back(std::move(whole));
  }
  table.set(headings, std::move(rows));
}

}  // namespace trainyard::gui
