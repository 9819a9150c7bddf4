// FlowEvolution: max-min fair rates from the first flow's end to the last's.
//
// When columns end, the flows that their full rows held are solved again with all others fixed. Then, as long as
// some fixed flow has lost its bottleneck (its row isn't full any more, or another there now has more), or has more
// than a flow that is held on a row they share, it joins those to be solved. What is left is max-min fair, because
// every flow has a bottleneck again, and rates with that property are unique.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "simulator/fabric/progressive_filling.h"
#include "simulator/fabric/sharing_problem.h"

namespace trainyard::simulator {

class FlowEvolution {
 public:
  explicit FlowEvolution(const SharingProblem& problem);  // must outlive this
  void run();                                             // to the end

  double finish(std::uint32_t column) const { return columns_[column].finish; }  // seconds
  std::uint32_t longest_bottleneck(std::uint32_t column) const { return columns_[column].longest; }
  const ProgressiveFilling& rates() const { return filling_; }
  void start();  // rates while all flow

 private:
  struct Column {
    double left = 0.0;        // bytes at `since`
    double since = 0.0;       // of the present rate
    double finish = 0.0;      // at the present rate
    double held_since = 0.0;  // by the present bottleneck
    double longest_held = -1.0;
    std::uint32_t held_by = SharingProblem::kNone;
    std::uint32_t longest = SharingProblem::kNone;
    std::uint32_t version = 0;      // of `finish`
    std::uint32_t affected_in = 0;  // event in which it is solved again
    double old_rate = 0.0;
    bool ended = false;
  };
  struct End {
    double at;
    std::uint32_t column;
    std::uint32_t version;
  };

  bool full(std::uint32_t row) const;
  void end(std::uint32_t column);
  void affect(std::uint32_t column);
  void solve_affected();
  bool add_those_left_without_bottleneck();
  void settle(std::uint32_t column, double now);
  void note_bottleneck(std::uint32_t column, double now);
  void push(std::uint32_t column);
  void drop_outdated();

  const SharingProblem& problem_;
  ProgressiveFilling filling_;
  std::vector<Column> columns_;
  std::vector<End> heap_;
  std::vector<std::uint32_t> affected_;
  std::uint32_t event_ = 0;
};

}  // namespace trainyard::simulator
