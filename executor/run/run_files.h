// The files of a run's folder.
//
//   plan.json                what was run
//   record.jsonl             run record, a line per event, readable while the run goes on
//   trace.json               measured trace of one step, all ranks
//   model/                   final weights, as transformers loads them
//   checkpoints/step-N/      state after N steps, where the plan asks for it: checkpoint_folder.h
#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>

#include "core/units/index.h"

namespace trainyard::executor {

struct RunFiles {
  std::filesystem::path folder;
  std::filesystem::path plan() const { return folder / "plan.json"; }
  std::filesystem::path record() const { return folder / "record.jsonl"; }
  std::filesystem::path trace() const { return folder / "trace.json"; }
  std::filesystem::path rank_trace(Rank rank) const;  // merged and removed at the end
  std::filesystem::path model() const { return folder / "model"; }
  std::filesystem::path checkpoints() const { return folder / "checkpoints"; }
  std::filesystem::path checkpoint(std::int64_t steps) const;
};

// Appends whole lines (newline included), each handed to the system before append() returns. An unfinished last line,
// which a killed writer leaves, is dropped first. After an append that throws (a full disk) the file is as before it.
class LineFile {
 public:
  explicit LineFile(std::filesystem::path file);
  void append(const std::string& line);

 private:
  std::filesystem::path file_;
  std::ofstream stream_;
};

}  // namespace trainyard::executor
