#include "cli/collective_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "cli/chart/line_chart.h"
#include "cli/text/counted.h"
#include "core/document/text_match.h"
#include "core/error.h"
#include "core/units/format_quantity.h"
#include "simulator/fabric/fair_share.h"

namespace trainyard::cli {

namespace {

using nlohmann::ordered_json;
using simulator::CollectiveOp;
using simulator::Limit;
using simulator::SweepRow;

constexpr double kGiga = 1e9;
constexpr double kMicro = 1e-6;
constexpr double kWorthSaying = 0.02;
constexpr std::size_t kQueuesShown = 5;

std::string_view reduction(CollectiveOp op) {
  const bool reduces =
      op == CollectiveOp::kAllReduce || op == CollectiveOp::kReduceScatter || op == CollectiveOp::kReduce;
  return reduces ? "sum" : "none";
}

std::string rate_text(BytesPerSecond rate) { return fmt::format("{:.2f}", rate.si() / kGiga); }
std::string time_text(Seconds time) { return fmt::format("{:.2f}", time.si() / kMicro); }

std::string protocol_text(const SweepRow& row) {
  return row.protocol ? std::string(to_string(*row.protocol)) : std::string("-");
}

std::string link_text(const Cluster& cluster, const SweepRow& row) {
  return row.price.bottleneck ? simulator::link_name(cluster, *row.price.bottleneck) : std::string();
}

// The link where the wire holds the collective, else what does.
std::string held_by(const Cluster& cluster, const SweepRow& row) {
  return row.price.limit == Limit::kLink && row.price.bottleneck ? link_text(cluster, row)
                                                                 : std::string(to_string(row.price.limit));
}

BytesPerSecond bus_at(const SweepRow& row, Seconds time) { return row.price.bus_bandwidth * (row.price.time / time); }

std::string count_text(const CollectiveReport& report, Bytes size) {
  return fmt::format("{:.0f}", std::floor(size.si() / report.type.bytes));
}

// The same algorithm where all are listed; else whatever runs at that size.
const SweepRow* same_row(const std::vector<SweepRow>& rows, const SweepRow& row, bool any_algorithm) {
  const auto found = std::find_if(rows.begin(), rows.end(), [&](const SweepRow& other) {
    return other.price.size == row.price.size && (any_algorithm || other.price.algorithm == row.price.algorithm);
  });
  return found == rows.end() ? nullptr : &*found;
}

bool lists_algorithms(const CollectiveReport& report) {
  return report.rows.size() > 1 && report.rows[0].price.size == report.rows[1].price.size;
}

ordered_json to_json(const CollectiveReport& report, const Cluster& cluster, const SweepRow& row) {
  const simulator::CollectivePrice& price = row.price;
  ordered_json object;
  object["size_bytes"] = price.size.si();
  object["count"] = std::floor(price.size.si() / report.type.bytes);
  object["type"] = report.type.name;
  object["redop"] = reduction(report.op);
  object["time_s"] = price.time.si();
  object["algbw_bytes_per_second"] = price.algorithm_bandwidth.si();
  object["busbw_bytes_per_second"] = price.bus_bandwidth.si();
  object["algorithm"] = to_string(price.algorithm);
  object["protocol"] = row.protocol ? ordered_json(to_string(*row.protocol)) : ordered_json(nullptr);
  object["nccl_choice"] = row.nccl_choice;
  object["held_by"] = to_string(price.limit);
  object["bottleneck"] = price.bottleneck ? ordered_json(link_text(cluster, row)) : ordered_json(nullptr);
  object["seeds"] = {
      {"p5_time_s", price.best.si()}, {"median_time_s", price.time.si()}, {"p95_time_s", price.worst.si()}};
  object["low_busbw_bytes_per_second"] = price.low.si();
  object["high_busbw_bytes_per_second"] = price.high.si();
  object["parts_s"] = {{"host", price.parts.floor},
                       {"latency", price.parts.latency},
                       {"protocol", price.parts.protocol},
                       {"wire", price.parts.wire}};
  object["fastest_algorithm"] = to_string(row.fastest);
  object["fastest_time_s"] = row.fastest_time.si();
  return object;
}

ordered_json to_json(const CollectiveReport& report, const Cluster& cluster, const std::vector<SweepRow>& rows) {
  ordered_json list = ordered_json::array();
  for (const SweepRow& row : rows) {
    list.push_back(to_json(report, cluster, row));
  }
  return list;
}

ordered_json what_if_json(const CollectiveReport& report) {
  if (report.what_if.empty()) {
    return nullptr;
  }
  ordered_json object;
  object["change"] = report.what_if;
  object["cut"] = report.cut.empty() ? ordered_json(nullptr) : ordered_json(report.cut);
  object["rows"] =
      report.changed.empty() ? ordered_json::array() : to_json(report, *report.changed_cluster, report.changed);
  return object;
}

ordered_json queues_json(const CollectiveReport& report) {
  if (!report.with_queues) {
    return nullptr;
  }
  ordered_json list = ordered_json::array();
  for (const simulator::PortQueue& queue : report.queues) {
    ordered_json object;
    object["port"] = simulator::link_name(*report.cluster, queue.arc);
    object["arrival_bytes_per_second"] = queue.arrival.si();
    object["drain_bytes_per_second"] = queue.drain.si();
    object["burst_s"] = queue.burst.si();
    object["need_bytes"] = queue.need.si();
    object["available_bytes"] = queue.available ? ordered_json(queue.available->si()) : ordered_json(nullptr);
    object["outcome"] = to_string(queue.outcome);
    object["deep_buffer"] = to_string(queue.deep);
    object["flows"] = queue.flows;
    object["victims"] = queue.victims;
    object["lost_bytes"] = queue.lost.si();
    list.push_back(object);
  }
  return list;
}

std::vector<ChartSeries> series_of(const std::vector<SweepRow>& rows, bool by_algorithm, const std::string& name) {
  std::vector<ChartSeries> all;
  for (const SweepRow& row : rows) {
    const std::string label = by_algorithm ? std::string(to_string(row.price.algorithm)) : name;
    auto found = std::find_if(all.begin(), all.end(), [&](const ChartSeries& s) { return s.name == label; });
    if (found == all.end()) {
      all.push_back({label, {}});
      found = all.end() - 1;
    }
    found->points.push_back({row.price.size.si(), row.price.bus_bandwidth.si() / kGiga,
                             by_algorithm ? 0.0 : row.price.low.si() / kGiga,
                             by_algorithm ? 0.0 : row.price.high.si() / kGiga});
  }
  return all;
}

}  // namespace

DataType parse_data_type(const std::string& text, const std::string& where) {
  constexpr std::array<std::pair<const char*, int>, 9> kTypes = {{{"int8", 1},
                                                                  {"uint8", 1},
                                                                  {"half", 2},
                                                                  {"bfloat16", 2},
                                                                  {"int32", 4},
                                                                  {"float", 4},
                                                                  {"int64", 8},
                                                                  {"double", 8},
                                                                  {"f8e4m3", 1}}};
  const std::string name = lower_case(text);
  const auto* found = std::find_if(kTypes.begin(), kTypes.end(), [&](const auto& t) { return name == t.first; });
  if (found == kTypes.end()) {
    throw Error("no data type '" + text + "'", where,
                "one of int8, uint8, half, bfloat16, int32, float, int64, double, f8e4m3");
  }
  return {name, found->second};
}

std::string headline(const CollectiveReport& report) {
  return fmt::format("{} on {}", to_string(report.op), report.cluster_name);
}

std::string placement(const CollectiveReport& report) {
  std::string text = fmt::format("{} on {}", counted(static_cast<std::int64_t>(report.ranks), "rank"),
                                 counted(static_cast<std::int64_t>(report.nodes), "node"));
  if (report.groups > 1) {
    text += fmt::format(", {} groups at once", report.groups);
  }
  if (report.nodes > 1) {
    text += fmt::format(", {}, {} routing", counted(static_cast<std::int64_t>(report.rails), "rail"),
                        to_string(report.routing));
    if (report.seeds > 1) {
      text += fmt::format(", {} hash seeds", report.seeds);
    }
  }
  return text;
}

Table rows_table(const CollectiveReport& report) {
  const bool spread = report.seeds > 1;
  std::vector<std::string> headings = {"size (B)", "count", "type",      "redop",    "time (us)",
                                       "algbw",    "busbw", "algorithm", "protocol", "80 % interval"};
  std::vector<Align> alignment = {Align::kRight, Align::kRight, Align::kLeft, Align::kLeft, Align::kRight,
                                  Align::kRight, Align::kRight, Align::kLeft, Align::kLeft, Align::kRight};
  if (spread) {
    headings.emplace_back("5-95 % of seeds");
    alignment.push_back(Align::kRight);
  }
  if (!report.changed.empty()) {
    headings.emplace_back("what if");
    alignment.push_back(Align::kRight);
  }
  headings.emplace_back("held by");
  alignment.push_back(Align::kLeft);
  Table table(headings, alignment);
  for (const SweepRow& row : report.rows) {
    const simulator::CollectivePrice& price = row.price;
    std::vector<std::string> cells = {fmt::format("{:.0f}", price.size.si()),
                                      count_text(report, price.size),
                                      report.type.name,
                                      std::string(reduction(report.op)),
                                      time_text(price.time),
                                      rate_text(price.algorithm_bandwidth),
                                      rate_text(price.bus_bandwidth),
                                      std::string(to_string(price.algorithm)) + (row.nccl_choice ? "*" : ""),
                                      protocol_text(row),
                                      rate_text(price.low) + "-" + rate_text(price.high)};
    if (spread) {
      cells.push_back(rate_text(bus_at(row, price.worst)) + "-" + rate_text(bus_at(row, price.best)));
    }
    if (!report.changed.empty()) {
      const SweepRow* changed = same_row(report.changed, row, !lists_algorithms(report));
      cells.push_back(changed == nullptr ? "-" : rate_text(changed->price.bus_bandwidth));
    }
    cells.push_back(held_by(*report.cluster, row));
    table.add_row(cells);
  }
  return table;
}

std::vector<std::string> slower_choices(const CollectiveReport& report) {
  struct Span {
    simulator::FlowAlgorithm fastest;
    Bytes first;
    Bytes last;
    double most = 0.0;
  };
  std::vector<Span> spans;
  bool open = false;
  for (const SweepRow& row : report.rows) {
    if (!row.nccl_choice) {
      continue;
    }
    const double gain = row.price.time / row.fastest_time - 1.0;
    if (gain < kWorthSaying) {
      open = false;
      continue;
    }
    if (!open || spans.back().fastest != row.fastest) {
      spans.push_back({row.fastest, row.price.size, row.price.size, 0.0});
    }
    open = true;
    spans.back().last = row.price.size;
    spans.back().most = std::max(spans.back().most, gain);
  }
  std::vector<std::string> lines;
  for (const Span& span : spans) {
    const std::string sizes = span.first == span.last
                                  ? "at " + format_quantity(span.first)
                                  : "from " + format_quantity(span.first) + " to " + format_quantity(span.last);
    lines.push_back(
        fmt::format("{}, {} would be faster, by up to {:.0f} %", sizes, to_string(span.fastest), 100.0 * span.most));
  }
  return lines;
}

std::string what_if_line(const CollectiveReport& report) {
  if (!report.cut.empty()) {
    return fmt::format("What if {}: {}", report.what_if, report.cut);
  }
  const SweepRow& before = report.rows.back();
  const SweepRow* after = same_row(report.changed, before, !lists_algorithms(report));
  if (after == nullptr) {
    return fmt::format("What if {}: {} can't run", report.what_if, to_string(before.price.algorithm));
  }
  return fmt::format("What if {}: {} takes {} instead of {} ({:+.0f} %), held by {}", report.what_if,
                     format_quantity(before.price.size), format_quantity(after->price.time),
                     format_quantity(before.price.time), 100.0 * (after->price.time / before.price.time - 1.0),
                     held_by(*report.changed_cluster, *after));
}

std::vector<std::string> queue_lines(const CollectiveReport& report) {
  std::vector<std::string> lines;
  for (std::size_t i = 0; i < std::min(kQueuesShown, report.queues.size()); ++i) {
    lines.push_back(describe(*report.cluster, report.queues[i]));
  }
  if (report.queues.size() > kQueuesShown) {
    lines.push_back(fmt::format("and {} ports more: see --json", report.queues.size() - kQueuesShown));
  }
  return lines;
}

Table advice_table(const CollectiveReport& report) {
  Table table({"change", "gain", "from", "to", "how"},
              {Align::kLeft, Align::kRight, Align::kRight, Align::kRight, Align::kLeft});
  for (const simulator::Advice& advice : report.advice) {
    table.add_row({advice.change, fmt::format("{:+.0f} %", 100.0 * advice.gain), format_quantity(advice.before),
                   format_quantity(advice.after), advice.setting});
  }
  return table;
}

ordered_json to_json(const CollectiveReport& report) {
  ordered_json object;
  object["kind"] = "collective";
  object["cluster"] = report.cluster_name;
  object["op"] = to_string(report.op);
  object["ranks"] = report.ranks;
  object["nodes"] = report.nodes;
  object["groups"] = report.groups;
  object["routing"] = to_string(report.routing);
  object["seeds"] = report.seeds;
  object["rows"] = to_json(report, *report.cluster, report.rows);
  object["what_if"] = what_if_json(report);
  object["recommendations"] = {{"size_bytes", report.advice_size.si()}, {"list", ordered_json::array()}};
  for (const simulator::Advice& advice : report.advice) {
    object["recommendations"]["list"].push_back({{"change", advice.change},
                                                 {"setting", advice.setting},
                                                 {"gain", advice.gain},
                                                 {"before_s", advice.before.si()},
                                                 {"time_s", advice.after.si()}});
  }
  object["queues"] = queues_json(report);
  object["notes"] = report.notes;
  object["limits"] = simulator::limits();
  return object;
}

std::string to_csv(const CollectiveReport& report) {
  std::string csv =
      "size_bytes,count,type,redop,time_us,algbw_GBps,busbw_GBps,algorithm,protocol,held_by,bottleneck,low_GBps,"
      "high_GBps,p5_time_us,p95_time_us,fastest\n";
  for (const SweepRow& row : report.rows) {
    const simulator::CollectivePrice& price = row.price;
    csv +=
        fmt::format("{:.0f},{},{},{},{},{},{},{},{},{},\"{}\",{},{},{},{},{}\n", price.size.si(),
                    count_text(report, price.size), report.type.name, reduction(report.op), time_text(price.time),
                    rate_text(price.algorithm_bandwidth), rate_text(price.bus_bandwidth), to_string(price.algorithm),
                    protocol_text(row), to_string(price.limit), link_text(*report.cluster, row), rate_text(price.low),
                    rate_text(price.high), time_text(price.best), time_text(price.worst), to_string(row.fastest));
  }
  return csv;
}

std::string to_svg(const CollectiveReport& report) {
  LineChart chart;
  chart.title = headline(report);
  const bool several = lists_algorithms(report);
  chart.subtitle = placement(report) + (several ? "" : "; the band holds 4 of 5 measurements");
  chart.x_label = "size, as nccl-tests counts it";
  chart.y_label = "bus bandwidth (GB/s)";
  chart.series = series_of(report.rows, several, report.changed.empty() ? "predicted" : "as it is");
  const std::vector<ChartSeries> changed = series_of(report.changed, several, "what if");
  chart.series.insert(chart.series.end(), changed.begin(), changed.end());
  return to_svg(chart);
}

}  // namespace trainyard::cli
