#include "gui/views/reliability_plots.h"

#include <QCoreApplication>
#include <algorithm>
#include <cmath>
#include <set>

#include "core/units/format_quantity.h"
#include "gui/views/term_explanations.h"

namespace trainyard::gui {

namespace {

using simulator::ReliabilityStudy;
using simulator::TimeUse;

constexpr double kDay = 86400.0;

QString tr(const char* text) { return QCoreApplication::translate("ReliabilityPlots", text); }

template <class Q>
QString quantity(Q value) {
  return QString::fromStdString(format_quantity(value));
}

QString share_text(double share) { return with_unit(share, Unit::kShare); }

TableRow table_row(const QString& about, const QString& what, const QString& text, double value) {
  return {{about, std::nullopt}, {what, std::nullopt}, {text, value}};
}

}  // namespace

Category category_of(const Theme& theme, TimeUse use) {
  if (use == TimeUse::kUseful) {
    QColor pale = theme.good;
    pale = QColor((pale.red() + 2 * theme.background.red()) / 3, (pale.green() + 2 * theme.background.green()) / 3,
                  (pale.blue() + 2 * theme.background.blue()) / 3);
    return {pale, Hatch::kNone};
  }
  return theme.category(static_cast<std::size_t>(use));
}

LinePlot interval_plot(const ReliabilityStudy& study, const Theme& theme) {
  LinePlot plot;
  if (study.intervals.size() < 2) {
    return plot;
  }
  plot.title = tr("Goodput by interval between saves");
  Line line{tr("this policy"), {}, theme.colours[0], false, true};
  double lowest = 1.0;
  for (const simulator::IntervalPoint& point : study.intervals) {
    line.points.push_back({point.storage.si(), point.goodput, point.goodput, point.goodput});
    lowest = std::min(lowest, point.goodput);
  }
  const Seconds own = study.resolved.job.checkpoints.storage.interval;
  lowest = std::min(lowest, study.range.low);
  plot.x = Axis{tr("work between saves"), study.intervals.front().storage.si(), study.intervals.back().storage.si(),
                Scale::kLogarithmic, Unit::kTime};
  plot.y = Axis{tr("goodput"), std::max(0.0, std::floor(lowest * 10.0) / 10.0), 1.0, Scale::kLinear, Unit::kShare};
  plot.shades = {
      {study.best.flat_from.si(), study.best.flat_to.si(),
       tr("within 0.1 % of the best: %1 to %2").arg(quantity(study.best.flat_from), quantity(study.best.flat_to))}};
  const LineMark range{own.si(),
                       study.reliability.goodput,
                       tr("best: %1").arg(quantity(study.best.storage)),
                       study.range.low,
                       study.range.high,
                       tr("every %1: goodput %2\n90 % range of the inputs: %3 to %4")
                           .arg(quantity(own), share_text(study.reliability.goodput), share_text(study.range.low),
                                share_text(study.range.high))};
  plot.marks = {range};
  if (study.interval_given) {
    plot.marks.front().name = tr("the plan's: %1").arg(quantity(own));
    plot.marks.push_back(
        {study.best.storage.si(), study.best.goodput, tr("best: %1").arg(quantity(study.best.storage))});
  }
  plot.legend = {{line.name, {line.colour, Hatch::kNone}, LegendMark::kLine},
                 {tr("90 % range of the inputs"), {theme.plan_b, Hatch::kNone}, LegendMark::kLine}};
  plot.lines = {std::move(line)};
  return plot;
}

LinePlot scale_plot(const ReliabilityStudy& study, std::int64_t own_ranks, const Theme& theme) {
  LinePlot plot;
  const bool finite = std::all_of(study.scales.begin(), study.scales.end(), [](const simulator::ScaleAnswer& scale) {
    return std::isfinite(scale.mttf.si()) && scale.mttf > Seconds();
  });
  if (study.scales.size() < 2 || !finite) {
    return plot;
  }
  plot.title = tr("Time between failures by scale");
  Line line{tr("mean; band: how far fleets lie apart"), {}, theme.colours[0], false, true};
  double least = INFINITY;
  double most = 0.0;
  for (const simulator::ScaleAnswer& scale : study.scales) {
    const double mean = scale.mttf.si();
    const double low = scale.low.si();
    const double high = scale.high.si();
    line.points.push_back({static_cast<double>(scale.ranks), mean, low, high});
    least = std::min(least, low);
    most = std::max(most, high);
    if (scale.ranks == own_ranks) {
      plot.marks = {{static_cast<double>(scale.ranks), mean, tr("this plan: %1").arg(quantity(scale.mttf))}};
    }
  }
  plot.x = Axis{tr("ranks (replicas and batch in proportion)"), static_cast<double>(study.scales.front().ranks),
                static_cast<double>(study.scales.back().ranks), Scale::kLogarithmic, Unit::kNone};
  plot.y = Axis{tr("mean time between failures"), least * 0.8, most * 1.25, Scale::kLogarithmic, Unit::kTime};
  plot.legend = {{line.name, {line.colour, Hatch::kNone}, LegendMark::kLine}};
  plot.lines = {std::move(line)};
  return plot;
}

LinePlot month_plot(const ReliabilityStudy& study, const Theme& theme) {
  LinePlot plot;
  if (study.month.empty()) {
    return plot;
  }
  plot.title = tr("One simulated month");
  Line done{tr("work done"), {{0.0, 0.0, 0.0, 0.0}}, theme.colours[0], false, false};
  std::set<TimeUse> seen;
  for (const simulator::TimelineSlice& slice : study.month) {
    const double work = slice.work / kDay;
    done.points.push_back({slice.end.si() / kDay, work, work, work});
    QString tip = QStringLiteral("%1: %2").arg(explanation_of(slice.use).name, quantity(slice.end - slice.begin));
    if (!slice.cause.empty()) {
      tip += tr("\nafter: %1").arg(QString::fromStdString(slice.cause));
    }
    tip += tr("\nfrom day %1").arg(slice.begin.si() / kDay, 0, 'f', 2);
    plot.stretches.push_back({slice.begin.si() / kDay, slice.end.si() / kDay, category_of(theme, slice.use), tip});
    seen.insert(slice.use);
  }
  const double days = std::max(study.month.back().end.si() / kDay, 1e-6);
  Line undisturbed{tr("undisturbed"), {{0.0, 0.0, 0.0, 0.0}, {days, days, days, days}}, theme.axis, true, false};
  plot.x = Axis{tr("days"), 0.0, days, Scale::kLinear, Unit::kNone};
  plot.y = Axis{tr("days of work in the state"), 0.0, days, Scale::kLinear, Unit::kNone};
  plot.legend = {{done.name, {done.colour, Hatch::kNone}, LegendMark::kLine},
                 {undisturbed.name, {undisturbed.colour, Hatch::kNone}, LegendMark::kDashes}};
  for (const TimeUse use : seen) {
    plot.legend.push_back({explanation_of(use).name.toLower(), category_of(theme, use), LegendMark::kFill});
  }
  plot.lines = {std::move(undisturbed), std::move(done)};
  return plot;
}

SpreadRows spread_rows(const ReliabilityStudy& study, const Theme& theme) {
  SpreadRows result;
  if (!study.simulated) {
    return result;
  }
  const simulator::SimulationResult& simulated = *study.simulated;
  result.note = tr("%1 runs").arg(simulated.runs);
  if (simulated.unfinished > 0) {
    result.note += tr(", %1 gave up").arg(simulated.unfinished);
    if (simulated.reason) {
      result.note += QStringLiteral(" (%1)").arg(QString::fromStdString(*simulated.reason));
    }
  }
  if (!simulated.days) {
    return result;
  }
  const simulator::Percentiles& days = *simulated.days;
  const auto time = [](double in_days) { return quantity(from_si<Seconds>(in_days * kDay)); };
  result.axis =
      rounded(Axis{tr("time to the plan's last step"), days.p5 * kDay, days.p95 * kDay, Scale::kLinear, Unit::kTime});
  const auto row = [&](const QString& name, double low, double high, const QString& what) {
    const QString tip = tr("%1 of the simulated runs took %2 to %3; half of them at most %4")
                            .arg(what, time(low), time(high), time(days.p50));
    BarRow made;
    made.name = name;
    made.lines = {{Bar{low * kDay, days.p50 * kDay, theme.category(0), tip, -1},
                   Bar{days.p50 * kDay, high * kDay, theme.category(4), tip, -1}}};
    made.values = {tr("%1 to %2").arg(time(low), time(high))};
    result.rows.push_back(std::move(made));
  };
  row(tr("P10 to P90"), days.p10, days.p90, tr("4 of 5"));
  row(tr("P5 to P95"), days.p5, days.p95, tr("9 of 10"));
  result.note += tr(", median %1").arg(time(days.p50));
  return result;
}

WaterfallRows waste_rows(const ReliabilityStudy& study, const Theme& theme) {
  WaterfallRows result;
  const simulator::TimeUses& shares = study.reliability.shares;
  result.axis = Axis{tr("share of the wall clock"), 0.0, 1.0, Scale::kLinear, Unit::kShare};
  double left = 1.0;
  for (std::size_t i = 1; i < simulator::kTimeUses; ++i) {
    const auto use = static_cast<TimeUse>(i);
    if (shares[use] > 0.0) {
      const Explanation explanation = explanation_of(use);
      BarRow row;
      row.name = explanation.name;
      row.linked = true;
      row.lines = {
          {Bar{left, left - shares[use], category_of(theme, use),
               QStringLiteral("%1: %2\n%3").arg(explanation.name, share_text(shares[use]), explanation.meaning),
               id_of(use)}}};
      row.values = {share_text(shares[use])};
      result.rows.push_back(std::move(row));
      left -= shares[use];
    }
  }
  BarRow useful;
  useful.name = tr("Goodput: what is left");
  useful.emphasised = true;
  useful.lines = {{Bar{0.0, shares[TimeUse::kUseful], category_of(theme, TimeUse::kUseful),
                       QString::fromUtf8(simulator::kGoodputDefinition), id_of(TimeUse::kUseful)}}};
  useful.values = {share_text(shares[TimeUse::kUseful])};
  result.rows.push_back(std::move(useful));
  // Little is wasted by good plans: what matters is the end of the axis.
  result.axis.low = std::max(0.0, std::floor((shares[TimeUse::kUseful] - 0.02) * 20.0) / 20.0);
  if (result.axis.low > 0.0) {
    result.axis.title = tr("share of the wall clock, from %1").arg(share_text(result.axis.low));
    result.rows.back().lines.front().front().from = result.axis.low;
  }
  return result;
}

void fill_table(ValueTable& table, const ReliabilityStudy& study) {
  std::vector<TableRow> rows;
  rows.push_back(table_row(tr("Job"), tr("Goodput"), share_text(study.reliability.goodput), study.reliability.goodput));
  rows.push_back(table_row(tr("Job"), tr("Goodput, low end of the inputs' 90 % range"), share_text(study.range.low),
                           study.range.low));
  rows.push_back(table_row(tr("Job"), tr("Goodput, high end of the inputs' 90 % range"), share_text(study.range.high),
                           study.range.high));
  rows.push_back(table_row(tr("Job"), tr("Mean time between failures"), quantity(study.reliability.mttf),
                           study.reliability.mttf.si()));
  for (std::size_t i = 0; i < simulator::kTimeUses; ++i) {
    const auto use = static_cast<TimeUse>(i);
    rows.push_back(table_row(tr("Wall clock"), explanation_of(use).name, share_text(study.reliability.shares[use]),
                             study.reliability.shares[use]));
  }
  for (const simulator::IntervalPoint& point : study.intervals) {
    rows.push_back(
        table_row(tr("Interval between saves"), quantity(point.storage), share_text(point.goodput), point.goodput));
  }
  for (const simulator::ScaleAnswer& scale : study.scales) {
    rows.push_back(table_row(tr("Time between failures by scale"), tr("%1 ranks").arg(scale.ranks),
                             quantity(scale.mttf), scale.mttf.si()));
  }
  if (study.simulated && study.simulated->days) {
    const simulator::Percentiles& days = *study.simulated->days;
    for (const auto& [name, value] :
         {std::pair(tr("P10"), days.p10), std::pair(tr("P50"), days.p50), std::pair(tr("P90"), days.p90)}) {
      rows.push_back(
          table_row(tr("Time to the last step"), name, quantity(from_si<Seconds>(value * kDay)), value * kDay));
    }
  }
  for (const simulator::TimelineSlice& slice : study.month) {
    if (slice.use != TimeUse::kUseful) {
      rows.push_back(table_row(tr("Simulated month, day %1").arg(slice.begin.si() / kDay, 0, 'f', 2),
                               explanation_of(slice.use).name, quantity(slice.end - slice.begin),
                               (slice.end - slice.begin).si()));
    }
  }
  table.set({tr("About"), tr("What"), tr("Value")}, std::move(rows));
}

}  // namespace trainyard::gui
