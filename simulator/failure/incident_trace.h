// A recorded trace of incidents: which node was down from when to when.
//
// CSV with a heading: columns "start", "end" and "node" (also "Start Time", "end_time", "host", "node_id", ...), any
// case and order; others are left alone. Times as in timestamp.h. An empty end: still down at the trace's end. '#'
// begins a comment line. A line that repeats another's node and times is the same incident: counted once.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace trainyard::simulator {

struct Incident {
  double start = 0.0;  // s
  double end = 0.0;
  std::size_t node = 0;  // in IncidentTrace::nodes
};

struct IncidentTrace {
  std::vector<Incident> incidents;  // by start
  std::vector<std::string> nodes;   // those that had one
  double begin = 0.0;               // first start
  double end = 0.0;                 // last end
  std::int64_t repeated = 0;        // lines left out as repeating another
};

// Throws Error with file and line: a missing column, a time that can't be read, an end before its
// start, dates beside seconds, ...
IncidentTrace parse_incident_trace(const std::string& text, const std::string& where);
IncidentTrace read_incident_trace(const std::filesystem::path& file);

// fleet: nodes there are, those without incidents included; nothing: those of the trace. Throws Error where the trace
// has more.
std::int64_t fleet_size(const IncidentTrace& trace, std::optional<std::int64_t> fleet);

}  // namespace trainyard::simulator
