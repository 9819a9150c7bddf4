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

QString changed_text(double change) {
  const QString sign = change > 0.0 ? QStringLiteral("+") : QStringLiteral("\u2212");
  return sign + time_text(from_si<Seconds>(std::abs(change)));
}

// What a row is about and takes, of each plan that is shown.
struct Part {
  QString name;
  int id = -1;
  Category category;
  std::vector<Seconds> times;  // by waterfall
  QString meaning;
};

QString tip_of(const Part& part, const NamedWaterfall& named, Seconds time) {
  const QString plan = named.name.isEmpty() ? QString() : named.name + QStringLiteral(": ");
  return QStringLiteral("%1\n%2%3\n%4\n%5")
      .arg(part.name, plan,
           tr("%1 of a useful step's wall clock, %2")
               .arg(time_text(time), with_unit(time / named.waterfall.wall, Unit::kShare)),
           part.meaning, tr("Click for equation, numbers and source."));
}

QString names_of(const std::vector<WaterfallCause>& causes) {
  QStringList names;
  for (const WaterfallCause& cause : causes) {
    names << explanation_of(cause).name.toLower();
  }
  return names.join(QStringLiteral(", "));
}

// The causes that share a row where there are more rows than `most`, the largest first.
std::vector<WaterfallCause> rest_of(const std::vector<NamedWaterfall>& waterfalls, int most) {
  std::vector<WaterfallCause> causes = causes_in(waterfalls);
  const auto rows = static_cast<int>(causes.size()) + 1;  // and the whole
  if (rows <= most) {
    return {};
  }
  const auto size = [&](const WaterfallCause& cause) {
    double largest = 0.0;
    for (const NamedWaterfall& named : waterfalls) {
      largest = std::max(largest, named.waterfall.of(cause) / named.waterfall.wall);
    }
    return largest;
  };
  std::stable_sort(causes.begin(), causes.end(),
                   [&](const WaterfallCause& a, const WaterfallCause& b) { return size(a) > size(b); });
  constexpr int kLeast = 2;  // causes with rows of their own, beside the rest's and the whole's
  const auto kept = std::min(causes.size(), static_cast<std::size_t>(std::max(kLeast, most - 2)));
  causes.erase(causes.begin(), causes.begin() + static_cast<std::ptrdiff_t>(kept));
  return causes;
}

// In their own order, the rest last.
std::vector<Part> parts_of(const std::vector<NamedWaterfall>& waterfalls, const Theme& theme,
                           const std::vector<WaterfallCause>& gathered) {
  Part rest{tr("%1 smaller parts").arg(gathered.size()),
            kRestId,
            {theme.axis, Hatch::kRising},
            std::vector<Seconds>(waterfalls.size()),
            names_of(gathered)};
  std::vector<Part> parts;
  for (const WaterfallCause& cause : causes_in(waterfalls)) {
    const Explanation explanation = explanation_of(cause);
    const bool small = std::find(gathered.begin(), gathered.end(), cause) != gathered.end();
    Part part{explanation.name, id_of(cause), category_of(theme, cause), {}, explanation.meaning};
    for (std::size_t i = 0; i < waterfalls.size(); ++i) {
      part.times.push_back(waterfalls[i].waterfall.of(cause));
      if (small) {
        rest.times[i] += part.times[i];
      }
    }
    if (!small) {
      parts.push_back(std::move(part));
    }
  }
  if (!gathered.empty()) {
    parts.push_back(std::move(rest));
  }
  return parts;
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

WaterfallRows waterfall_rows(const std::vector<NamedWaterfall>& waterfalls, const Theme& theme, int most) {
  WaterfallRows result;
  double longest = 0.0;
  for (const NamedWaterfall& named : waterfalls) {
    longest = std::max(longest, named.waterfall.wall.si());
  }
  result.axis = Axis{tr("wall clock of a useful step"), 0.0, longest * 1.02, Scale::kLinear, Unit::kTime};
  result.gathered = rest_of(waterfalls, most);
  std::vector<double> reached(waterfalls.size(), 0.0);
  for (const Part& part : parts_of(waterfalls, theme, result.gathered)) {
    BarRow row;
    row.name = part.name;
    row.linked = true;
    for (std::size_t i = 0; i < waterfalls.size(); ++i) {
      const Seconds time = part.times[i];
      row.lines.push_back(
          {Bar{reached[i], reached[i] + time.si(), part.category, tip_of(part, waterfalls[i], time), part.id}});
      row.values.push_back(time_text(time));
      row.shares.push_back(with_unit(time / waterfalls[i].waterfall.wall, Unit::kShare));
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
    whole.values.push_back(time_text(named.waterfall.wall));
    whole.shares.push_back(with_unit(1.0, Unit::kShare));
  }
  result.rows.push_back(std::move(whole));
  return result;
}

WaterfallRows difference_rows(const NamedWaterfall& a, const NamedWaterfall& b, const Theme& theme, int most) {
  WaterfallRows result;
  const Category slower{theme.bad, Hatch::kRising};
  const Category faster{theme.good, Hatch::kNone};
  const auto row_of = [&](const QString& name, double change, int id, const QString& tip) {
    BarRow row;
    row.name = name;
    row.lines = {{Bar{0.0, change, change > 0.0 ? slower : faster, tip, id}}};
    row.values = {changed_text(change)};
    row.shares = {with_unit(std::abs(change) / a.waterfall.wall.si(), Unit::kShare)};
    return row;
  };
  const std::vector<simulator::WaterfallDifference> all = differences(a.waterfall, b.waterfall);
  const bool too_many = static_cast<int>(all.size()) + 1 > most;
  const std::size_t kept = too_many ? static_cast<std::size_t>(std::max(1, most - 2)) : all.size();
  double longest = 0.0;
  double rest = 0.0;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const simulator::WaterfallDifference& entry = all[i];
    if (i >= kept) {
      rest += entry.difference().si();
      result.gathered.push_back(entry.cause);
      continue;
    }
    const Explanation explanation = explanation_of(entry.cause);
    const QString tip =
        QStringLiteral("%1\n%2: %3\n%4: %5\n%6")
            .arg(explanation.name, a.name, time_text(entry.a), b.name, time_text(entry.b), explanation.meaning);
    result.rows.push_back(row_of(explanation.name, entry.difference().si(), id_of(entry.cause), tip));
    longest = std::max(longest, std::abs(entry.difference().si()));
  }
  if (!result.gathered.empty()) {
    result.rows.push_back(row_of(tr("%1 smaller differences").arg(result.gathered.size()), rest, kRestDifferenceId,
                                 names_of(result.gathered)));
  }
  const double change = (b.waterfall.wall - a.waterfall.wall).si();
  longest = std::max({longest, std::abs(change), a.waterfall.wall.si() * 1e-3});
  BarRow whole = row_of(tr("Wall clock of a useful step"), change, kWholeId, tr("The sum of all differences."));
  whole.emphasised = true;
  result.rows.push_back(std::move(whole));
  result.axis = Axis{tr("%1 against %2: longer to the right").arg(b.name, a.name), -1.05 * longest, 1.05 * longest,
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
