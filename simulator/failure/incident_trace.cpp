#include "simulator/failure/incident_trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <initializer_list>
#include <limits>
#include <tuple>
#include <unordered_map>

#include "core/document/read_file.h"
#include "core/error.h"
#include "core/import/text_lines.h"
#include "simulator/failure/timestamp.h"

namespace trainyard::simulator {
namespace {

constexpr double kLatest = 2.54e11;  // s: the year 9999 since 1970
constexpr const char* kForm = "the heading is to name the columns start, end and node";

// The fields of a line; "..." may hold commas and "" for a quote.
std::vector<std::string> fields_of(std::string_view line, const std::string& where) {
  std::vector<std::string> fields(1);
  bool quoted = false;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (quoted && c == '"' && i + 1 < line.size() && line[i + 1] == '"') {
      fields.back() += c;
      ++i;
    } else if (c == '"') {
      quoted = !quoted;
    } else if (c == ',' && !quoted) {
      fields.emplace_back();
    } else {
      fields.back() += c;
    }
  }
  if (quoted) {
    throw Error("a quote that doesn't end on its line", where, "close it with \"");
  }
  for (std::string& field : fields) {
    field = std::string(trimmed(field));
  }
  return fields;
}

struct Columns {
  std::size_t start = 0;
  std::size_t end = 0;
  std::size_t node = 0;
  std::size_t count = 0;
};

// Letters alone, lower case: "Start Time" and "start_time" are one.
std::string plain(const std::string& name) {
  std::string letters;
  for (const char c : name) {
    const auto byte = static_cast<unsigned char>(c);
    if (std::isalpha(byte) != 0) {
      letters += static_cast<char>(std::tolower(byte));
    }
  }
  return letters;
}

Columns read_heading(const std::vector<std::string>& names, const std::string& where) {
  const auto find = [&](const std::string& wanted, std::initializer_list<const char*> others) {
    for (std::size_t i = 0; i < names.size(); ++i) {
      const std::string name = plain(names[i]);
      if (name == wanted || std::find(others.begin(), others.end(), name) != others.end()) {
        return i;
      }
    }
    throw Error(fmt::format("no column \"{}\"", wanted), where, kForm);
  };
  return {find("start", {"starttime", "begin", "faultstart"}), find("end", {"endtime", "faultend"}),
          find("node", {"nodeid", "nodename", "host", "hostname"}), names.size()};
}

class TraceReader {
 public:
  explicit TraceReader(const std::string& where) : where_(where) {}

  void line(std::string_view text, std::size_t number) {
    const std::string at = at_line(where_, number);
    const std::vector<std::string> fields = fields_of(text, at);
    if (!heading_) {
      columns_ = read_heading(fields, at);
      heading_ = true;
      return;
    }
    if (fields.size() != columns_.count) {
      throw Error(fmt::format("{} fields under a heading of {}", fields.size(), columns_.count), at,
                  "one field for each column; quote a field that holds a comma");
    }
    Incident incident;
    incident.start = time_of(fields[columns_.start], "start", at);
    const std::string& end = fields[columns_.end];
    incident.end = end.empty() ? std::numeric_limits<double>::infinity() : time_of(end, "end", at);
    if (incident.end < incident.start) {
      throw Error(fmt::format("the end {} is before the start {}", quote(end), quote(fields[columns_.start])), at,
                  "swap them, or correct one");
    }
    incident.node = node_of(fields[columns_.node], at);
    trace_.incidents.push_back(incident);
  }

  IncidentTrace take() {
    if (!heading_) {
      throw Error("an empty trace", where_, kForm);
    }
    if (trace_.incidents.empty()) {
      throw Error("a heading and no incidents", where_, "give at least one line");
    }
    drop_repeated();
    trace_.begin = trace_.incidents.front().start;
    trace_.end = trace_.begin;
    for (const Incident& incident : trace_.incidents) {
      const bool open = incident.end == std::numeric_limits<double>::infinity();
      trace_.end = std::max(trace_.end, open ? incident.start : incident.end);
    }
    for (Incident& incident : trace_.incidents) {
      incident.end = std::min(incident.end, trace_.end);
    }
    if (trace_.end <= trace_.begin) {
      throw Error("all incidents at one instant", where_, "a trace covers some time");
    }
    return std::move(trace_);
  }

 private:
  // The same node and times again: one incident that two monitors have seen.
  void drop_repeated() {
    std::vector<Incident>& all = trace_.incidents;
    const auto key = [](const Incident& i) { return std::tuple(i.start, i.node, i.end); };
    std::sort(all.begin(), all.end(), [&](const Incident& a, const Incident& b) { return key(a) < key(b); });
    const auto end =
        std::unique(all.begin(), all.end(), [&](const Incident& a, const Incident& b) { return key(a) == key(b); });
    trace_.repeated = all.end() - end;
    all.erase(end, all.end());
  }

  double time_of(const std::string& text, const char* column, const std::string& at) {
    const std::optional<double> time = parse_timestamp(text);
    if (!time) {
      throw Error(fmt::format("{} {} is no time", column, quote(text)), at,
                  "seconds, or a date and time like 2023-05-01T12:30:00");
    }
    if (!(std::abs(*time) <= kLatest)) {
      throw Error(fmt::format("{} {} is beyond the year 9999", column, quote(text)), at,
                  "seconds since any day, or a date and time");
    }
    const bool date = !finite_number(text);
    if (dates_.value_or(date) != date) {
      throw Error(fmt::format("{} {} in a trace of {}", column, quote(text), date ? "seconds" : "dates"), at,
                  "all times as dates, or all as seconds since one moment");
    }
    dates_ = date;
    return *time;
  }

  std::size_t node_of(const std::string& name, const std::string& at) {
    if (name.empty()) {
      throw Error("an incident of no node", at, "name the node that was down");
    }
    const auto [place, added] = index_.emplace(name, trace_.nodes.size());
    if (added) {
      trace_.nodes.push_back(name);
    }
    return place->second;
  }

  const std::string& where_;
  bool heading_ = false;
  std::optional<bool> dates_;  // of the times so far; else seconds
  Columns columns_;
  IncidentTrace trace_;
  std::unordered_map<std::string, std::size_t> index_;
};

}  // namespace

IncidentTrace parse_incident_trace(const std::string& text, const std::string& where) {
  require_text(text, where);
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
  std::string_view rest = text;
  if (rest.substr(0, kByteOrderMark.size()) == kByteOrderMark) {
    rest.remove_prefix(kByteOrderMark.size());
  }
  TraceReader reader(where);
  TextLines lines(rest);
  for (std::string_view line; lines.next(line);) {
    const std::string_view content = trimmed(line);
    if (!content.empty() && content.front() != '#') {
      reader.line(line, lines.number());
    }
  }
  return reader.take();
}

IncidentTrace read_incident_trace(const std::filesystem::path& file) {
  return parse_incident_trace(read_text_file(file), file.string());
}

std::int64_t fleet_size(const IncidentTrace& trace, std::optional<std::int64_t> fleet) {
  const auto seen = static_cast<std::int64_t>(trace.nodes.size());
  if (fleet && *fleet < seen) {
    throw Error(fmt::format("a fleet of {} nodes, but {} of them had incidents", *fleet, seen), "incident trace",
                fmt::format("give at least {} nodes", seen));
  }
  return fleet.value_or(seen);
}

}  // namespace trainyard::simulator
