// Selection: what the person is looking at, in every view at once: a plan, two plans side by side, ranks, links of the
// cluster, a span of the step. Each view writes to it and listens; setters signal only what has changed.
#pragma once

#include <QObject>
#include <optional>
#include <vector>

#include "core/cluster/link.h"
#include "core/units/index.h"
#include "core/units/quantity.h"

namespace trainyard::gui {

struct TimeSpan {
  Nanoseconds begin = 0;  // from the start of the step
  Nanoseconds end = 0;
  friend bool operator==(const TimeSpan&, const TimeSpan&) = default;
};

class Selection : public QObject {
  Q_OBJECT

 public:
  using QObject::QObject;

  // Places in Results::plans().
  std::optional<int> plan() const { return plan_; }
  std::optional<int> plan_a() const { return plan_a_; }
  std::optional<int> plan_b() const { return plan_b_; }
  void select_plan(std::optional<int> plan);
  void compare(std::optional<int> a, std::optional<int> b);

  const std::vector<Rank>& ranks() const { return ranks_; }  // sorted, each once; empty: none
  void select_ranks(std::vector<Rank> ranks);

  const std::vector<LinkId>& links() const { return links_; }  // sorted, each once; empty: none
  void select_links(std::vector<LinkId> links);

  std::optional<TimeSpan> time() const { return time_; }
  void select_time(std::optional<TimeSpan> time);

 Q_SIGNALS:
  void plan_changed();
  void comparison_changed();
  void ranks_changed();
  void links_changed();
  void time_changed();

 private:
  std::optional<int> plan_;
  std::optional<int> plan_a_;
  std::optional<int> plan_b_;
  std::vector<Rank> ranks_;
  std::vector<LinkId> links_;
  std::optional<TimeSpan> time_;
};

}  // namespace trainyard::gui
