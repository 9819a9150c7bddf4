// Progressive filling: max-min fair levels of a sparse sharing problem.
//
//   raise one level l for all columns, rate = weight * l, until a row is full or a column meets its cap:
//   level of a row = (capacity - what is fixed on it) / sum over its open columns of load * weight
//   fix the columns of the lowest row (or cap) at its level; go on with the rest
//
// Rows wait in a heap by the level they would fill at. That only rises as others are fixed, so a row that comes up
// is brought up to date and put back where it was too early: O(entries + rows log rows).
//
// Source: Bertsekas and Gallager 1992, Data Networks, section 6.5.2.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "simulator/fabric/sharing_problem.h"

namespace trainyard::simulator {

class ProgressiveFilling {
 public:
  explicit ProgressiveFilling(const SharingProblem& problem);  // must outlive this

  // Levels of `columns`, which must not be fixed, beside what fix() has put on the rows. Leaves them open: the caller
  // fixes them.
  void fill(std::span<const std::uint32_t> columns);
  // Puts the column's rate at its level on its rows, or takes it off again.
  void fix(std::uint32_t column) { add_rate(column, +1.0); }
  void release(std::uint32_t column) { add_rate(column, -1.0); }

  double level(std::uint32_t column) const { return level_[column]; }
  double rate(std::uint32_t column) const { return level_[column] * problem_.weight[column]; }
  // Row that stopped the column; kNone where its cap did, or nothing.
  std::uint32_t bottleneck(std::uint32_t column) const { return bottleneck_[column]; }
  double fixed(std::uint32_t row) const { return fixed_[row]; }
  // Rows that the last fill() touched.
  std::span<const std::uint32_t> touched() const { return touched_; }

 private:
  struct Row {
    double room = 0.0;   // capacity less what is fixed
    double slope = 0.0;  // bytes a second per level, of open columns
    std::uint32_t open = 0;
  };
  struct Candidate {
    double level;
    std::uint32_t row;
  };

  void add_rate(std::uint32_t column, double sign);
  void open_rows(std::span<const std::uint32_t> columns);
  void stop(std::uint32_t column, double level, std::uint32_t row);
  void stop_capped(double level);
  double row_level(std::uint32_t row) const;

  const SharingProblem& problem_;
  std::vector<double> level_;              // by column
  std::vector<std::uint32_t> bottleneck_;  // by column
  std::vector<bool> is_open_;              // by column
  std::vector<double> fixed_;              // by row
  std::vector<Row> rows_;
  std::vector<std::uint32_t> touched_;
  std::vector<Candidate> heap_;
  std::vector<std::uint32_t> capped_;  // open columns with a cap, by falling level
};

}  // namespace trainyard::simulator
