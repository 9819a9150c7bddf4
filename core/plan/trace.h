// Trace: slices in time, simulated or measured alike.
//
// A slice is one instruction of one rank (or of one role, in a simulated trace) on one stream. Times are
// integer nanoseconds from the start of the step.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/plan/provenance.h"
#include "core/program/instruction.h"
#include "core/units/quantity.h"

namespace trainyard {

constexpr int kTraceSchema = 1;

struct Slice {
  Rank rank;
  RoleId role;
  InstructionId instruction;
  InstructionKind kind = InstructionKind::kForward;
  Stream stream = Stream::kCompute;
  std::optional<SegmentKind> segment;
  std::optional<int> microbatch;
  std::optional<int> layer;
  Nanoseconds begin = 0;
  Nanoseconds end = 0;
};

struct Trace {
  bool simulated = true;
  std::string program_hash;
  std::int64_t step = 0;
  Nanoseconds duration = 0;   // of the step: last end over all ranks
  std::vector<Slice> slices;  // by rank, then begin
  Provenance provenance;
};

Trace read_trace(const std::filesystem::path& file);
Trace parse_trace(const std::string& text, const std::string& where);
std::string to_json(const Trace& trace);
void write_trace(const Trace& trace, const std::filesystem::path& file);

}  // namespace trainyard
