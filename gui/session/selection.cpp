#include "gui/session/selection.h"

#include <algorithm>
#include <utility>

namespace trainyard::gui {

namespace {

template <class Id>
std::vector<Id> sorted_once(std::vector<Id> ids) {
  std::sort(ids.begin(), ids.end());
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
  return ids;
}

}  // namespace

void Selection::select_plan(std::optional<int> plan) {
  if (std::exchange(plan_, plan) != plan) {
    Q_EMIT plan_changed();
  }
}

void Selection::compare(std::optional<int> a, std::optional<int> b) {
  const bool same = plan_a_ == a && plan_b_ == b;
  plan_a_ = a;
  plan_b_ = b;
  if (!same) {
    Q_EMIT comparison_changed();
  }
}

void Selection::select_ranks(std::vector<Rank> ranks) {
  ranks = sorted_once(std::move(ranks));
  if (ranks != ranks_) {
    ranks_ = std::move(ranks);
    Q_EMIT ranks_changed();
  }
}

void Selection::select_links(std::vector<LinkId> links) {
  links = sorted_once(std::move(links));
  if (links != links_) {
    links_ = std::move(links);
    Q_EMIT links_changed();
  }
}

void Selection::select_time(std::optional<TimeSpan> time) {
  if (std::exchange(time_, time) != time) {
    Q_EMIT time_changed();
  }
}

}  // namespace trainyard::gui
