#include "simulator/fabric/commodities.h"

#include <algorithm>
#include <limits>
#include <unordered_map>

#include "core/error.h"

namespace trainyard::simulator {

namespace {

double cap_of(const Flow& flow) {
  return flow.rate_cap ? flow.rate_cap->si() : std::numeric_limits<double>::infinity();
}

bool alike(const Flow& a, const Flow& b) {
  return a.bytes == b.bytes && a.weight == b.weight && a.rate_cap == b.rate_cap;
}

class Builder {
 public:
  explicit Builder(const FlowSet& flows) : flows_(flows), seen_(flows.legs()) {
    made_.of_flow.resize(flows.flows().size());
    made_.part.assign(flows.flows().size(), 1.0);
  }

  Commodities build() {
    for (std::size_t i = 0; i < flows_.flows().size(); ++i) {
      const Flow& flow = flows_.flows()[i];
      check(flow.weight > 0.0, "a flow needs a weight above zero");
      if (flow.coupled_group) {
        add_to_group(*flow.coupled_group, static_cast<std::uint32_t>(i));
      } else if (last_ && flows_.path_of(i) == flows_.path_of(*last_) && alike(flow, flows_.flows()[*last_])) {
        add_equal(i);
      } else {
        start(flow);
        add_legs(i, 1.0);
        last_ = i;
      }
    }
    const Members* last = nullptr;
    std::size_t equal = 1;
    for (const Members& members : groups_) {
      if (last != nullptr && same_moves(*last, members)) {
        join_last_group(*last, members, ++equal);
      } else {
        add_group(members);
        last = &members;
        equal = 1;
      }
    }
    close();
    return std::move(made_);
  }

 private:
  using Members = std::vector<std::uint32_t>;

  void start(const Flow& flow) {
    close();
    made_.weight.push_back(flow.weight);
    made_.rate_cap.push_back(cap_of(flow));
    made_.bytes.push_back(flow.bytes.si());
  }
  void close() {
    if (made_.first.size() <= made_.size()) {
      made_.first.push_back(static_cast<std::uint32_t>(made_.legs.size()));
    }
  }
  void add_legs(std::size_t flow, double part) {
    for (const LegUse& leg : flows_.path(flows_.path_of(flow))) {
      made_.legs.push_back({leg.leg, leg.share * part});
    }
    made_.of_flow[flow] = static_cast<std::uint32_t>(made_.size() - 1);
  }
  // One more on the path of the commodity being made.
  void add_equal(std::size_t flow) {
    const auto first = made_.legs.begin() + made_.first.back();
    std::size_t i = 0;
    for (const LegUse& leg : flows_.path(flows_.path_of(flow))) {
      (first + static_cast<std::ptrdiff_t>(i++))->share += leg.share;
    }
    made_.of_flow[flow] = static_cast<std::uint32_t>(made_.size() - 1);
  }
  void add_group(const Members& members) {
    const auto larger = [this](std::uint32_t a, std::uint32_t b) {
      return flows_.flows()[a].bytes < flows_.flows()[b].bytes;
    };
    const Flow& largest = flows_.flows()[*std::max_element(members.begin(), members.end(), larger)];
    start(largest);
    for (const std::uint32_t i : members) {
      const Flow& flow = flows_.flows()[i];
      const double part = largest.bytes.si() > 0.0 ? flow.bytes.si() / largest.bytes.si() : 1.0;
      made_.part[i] = part;
      if (part > 0.0) {
        made_.rate_cap.back() = std::min(made_.rate_cap.back(), cap_of(flow) / part);
      }
      add_legs(i, part);
    }
    merge_legs();
  }
  // Channels of one ring, where routing doesn't tell them apart: one commodity, as alike flows on one path are.
  bool same_moves(const Members& a, const Members& b) const {
    const auto same = [this](std::uint32_t i, std::uint32_t j) {
      return flows_.path_of(i) == flows_.path_of(j) && alike(flows_.flows()[i], flows_.flows()[j]);
    };
    return a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin(), same);
  }
  void join_last_group(const Members& last, const Members& members, std::size_t equal) {
    const double factor = static_cast<double>(equal) / static_cast<double>(equal - 1);
    for (std::size_t at = made_.first.back(); at < made_.legs.size(); ++at) {
      made_.legs[at].share *= factor;
    }
    for (std::size_t m = 0; m < members.size(); ++m) {
      made_.part[members[m]] = made_.part[last[m]];
      made_.of_flow[members[m]] = static_cast<std::uint32_t>(made_.size() - 1);
    }
  }
  // Hops of a ring share legs; each once, their shares added. seen_ keeps where this group has a leg.
  void merge_legs() {
    const std::size_t begin = made_.first.back();
    const auto group = static_cast<std::uint32_t>(made_.size());
    std::size_t out = begin;
    for (std::size_t in = begin; in < made_.legs.size(); ++in) {
      const LegUse use = made_.legs[in];
      Seen& seen = seen_[use.leg.at()];
      if (seen.group == group) {
        made_.legs[seen.at].share += use.share;
      } else {
        seen = {group, static_cast<std::uint32_t>(out)};
        made_.legs[out++] = use;
      }
    }
    made_.legs.resize(out);
  }

  // Groups in the order of their first flow. Their numbers are mostly small: a table; else a map.
  void add_to_group(std::int32_t number, std::uint32_t flow) {
    const bool is_small = number >= 0 && static_cast<std::size_t>(number) < 4 * flows_.flows().size();
    if (is_small && static_cast<std::size_t>(number) >= small_.size()) {
      small_.resize(std::max(2 * small_.size(), static_cast<std::size_t>(number) + 1), 0);
    }
    std::uint32_t& place = is_small ? small_[static_cast<std::size_t>(number)] : large_[number];
    if (place == 0) {
      groups_.emplace_back();
      place = static_cast<std::uint32_t>(groups_.size());
    }
    groups_[place - 1].push_back(flow);
  }

  struct Seen {
    std::uint32_t group = 0;
    std::uint32_t at = 0;
  };

  const FlowSet& flows_;
  std::vector<Seen> seen_;  // by leg
  Commodities made_;
  std::optional<std::size_t> last_;
  std::vector<Members> groups_;
  std::vector<std::uint32_t> small_;  // by group: its place in groups_, counted from 1
  std::unordered_map<std::int32_t, std::uint32_t> large_;
};

}  // namespace

Commodities commodities_of(const FlowSet& flows) { return Builder(flows).build(); }

}  // namespace trainyard::simulator
