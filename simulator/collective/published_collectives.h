// Measured collectives as published: rows of {id, source, hardware, nodes, gpus, collective, size_bytes, algbw_GBps,
// busbw_GBps, algo, time_us, notes}, GB = 1e9 bytes, busbw as nccl-tests defines it; null where not stated.
//
// A row becomes an observation (a curve shape, a size and a bus bandwidth) or says why it can't. What is odd about it
// is flagged; a flag that excludes keeps it out of fits and summaries, though it is still predicted:
//   excluding   peak (no size), threshold (a pass mark or expectation), training_trace, anomalous, poor_setup,
//               factor_mismatch (busbw isn't F algbw), one_digit, non_monotone (a larger size took less time),
//               protocol_forced, and those of models/published/collective_exclusions.json
//   telling     by_eye, inferred, nics_assumed, ranks_assumed, nodes_assumed, fabric_assumed, algorithm_replaced
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "simulator/collective/curve_fit.h"
#include "simulator/collective/hardware_text.h"

namespace trainyard::simulator {

struct PublishedCollective {
  std::string id;
  std::string source;
  std::string hardware;
  std::optional<int> nodes;
  std::optional<int> gpus;
  std::string collective;
  std::optional<double> size_bytes;
  std::optional<double> algbw_gbps;
  std::optional<double> busbw_gbps;
  std::string algo;
  std::optional<double> time_us;
  std::string notes;
  std::string malformed;  // why the row can't be read; empty when it can
};

// id -> flag and reason.
using Exclusions = std::map<std::string, std::pair<std::string, std::string>>;

struct ClassifiedCollective {
  PublishedCollective row;
  CollectiveSite site;
  CollectiveOp op = CollectiveOp::kAllReduce;
  NcclAlgorithm algorithm = NcclAlgorithm::kRing;
  CurveShape shape;
  std::optional<Bytes> size;
  BytesPerSecond measured;  // from time_us where given: it has more digits
  std::string series;
  std::string source;  // what is left out together: the repository or talk
  std::vector<std::string> flags;
  bool excluded = false;
  std::string reason;  // why it can't be scored; empty when it can

  FitObservation observation() const { return {shape, size.value_or(Bytes()), measured, series, source}; }
};

// A file with "points". Rows of wrong types are kept, with their reason; a file without rows is an Error.
std::vector<PublishedCollective> parse_published_collectives(const std::string& text, const std::string& where);
// What such a file's own "count" and "schema" (its columns) say that its points don't; for people.
std::vector<std::string> header_doubts(const std::string& text);
Exclusions parse_exclusions(const std::string& text, const std::string& where);

std::vector<ClassifiedCollective> classify(const std::vector<PublishedCollective>& rows, const LinkFacts& facts,
                                           const Exclusions& exclusions);

// Those that are scored and not excluded.
std::vector<FitObservation> fit_observations(const std::vector<ClassifiedCollective>& rows);

}  // namespace trainyard::simulator
