#include "simulator/fabric/what_if.h"

#include <fmt/format.h>

#include <charconv>
#include <optional>
#include <vector>

#include "core/document/nearest_name.h"
#include "core/error.h"

namespace trainyard::simulator {

namespace {

constexpr const char* kForms = "write link:NAME-NAME=STATE, switch:NAME=STATE or nic:NAME=STATE";
constexpr const char* kStates = "STATE is down, half, cable-down, a fraction such as 0.5, or flap:FRACTION";
constexpr double kLeastFraction = 1e-3;  // what_if.h

enum class Effect { kDown, kHalf, kCableDown, kScaled };

struct State {
  Effect effect = Effect::kDown;
  double factor = 1.0;
  bool flaps = false;
};

double fraction(std::string_view text, const std::string& where) {
  double value = 0.0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !(value > 0.0 && value < 1.0)) {
    throw Error("not a fraction between 0 and 1: \"" + std::string(text) + "\"", where, kStates);
  }
  return value;
}

// Of the bandwidth that is left.
double left_over(double part, const std::string& where) {
  if (part < kLeastFraction) {
    throw Error(fmt::format("{:g} of its bandwidth is less than a link that is up carries", part), where,
                fmt::format("write =down, or a fraction of at least {:g}", kLeastFraction));
  }
  return part;
}

State parse_state(std::string_view text, const std::string& where) {
  constexpr std::string_view kFlap = "flap:";
  if (text == "down") {
    return {};
  }
  if (text == "half") {
    return {.effect = Effect::kHalf};
  }
  if (text == "cable-down") {
    return {.effect = Effect::kCableDown};
  }
  if (text.substr(0, kFlap.size()) == kFlap) {
    return {.effect = Effect::kScaled,
            .factor = left_over(1.0 - fraction(text.substr(kFlap.size()), where), where),
            .flaps = true};
  }
  return {.effect = Effect::kScaled, .factor = left_over(fraction(text, where), where)};
}

// A link at the state; absent where nothing is left of it.
std::optional<Link> changed(Link link, const State& state) {
  const auto scale = [&link](double factor) {
    link.bandwidth *= factor;
    link.reverse_bandwidth *= factor;
  };
  const auto take_width = [&](std::int32_t width) {
    scale(static_cast<double>(width) / link.width);
    link.width = width;
  };
  switch (state.effect) {
    case Effect::kDown:
      return std::nullopt;
    case Effect::kHalf:
      if (link.width > 1) {
        take_width(link.width / 2);
      } else {
        scale(0.5);
      }
      return link;
    case Effect::kCableDown:
      if (link.width == 1) {
        return std::nullopt;
      }
      take_width(link.width - 1);
      return link;
    case Effect::kScaled:
      scale(state.factor);
      return link;
  }
  return link;
}

class Changer {
 public:
  Changer(const Cluster& cluster, const std::string& change) : cluster_(cluster), change_(change) {
    const std::size_t colon = change.find(':');
    const std::size_t equals = change.rfind('=');
    if (colon == std::string::npos || equals == std::string::npos || equals < colon) {
      throw Error("not a change", change, kForms);
    }
    subject_ = change.substr(0, colon);
    name_ = change.substr(colon + 1, equals - colon - 1);
    state_ = parse_state(std::string_view(change).substr(equals + 1), change);
  }

  Cluster apply() {
    const std::vector<bool> affected = subject_ == "link" ? links_between() : links_of_vertex();
    if (state_.effect == Effect::kCableDown && subject_ != "link") {
      require_bundles(affected);
    }
    Cluster result = emptied();
    for (std::size_t l = 0; l < affected.size(); ++l) {
      const Link& link = cluster_.links()[l];
      if (const std::optional<Link> left = affected[l] ? changed(link, state_) : link) {
        result.add_link(*left);
      }
    }
    result.notes.push_back("what if: " + change_);
    if (state_.flaps) {
      result.notes.push_back("flapping counts as a mean bandwidth; what each loss and return costs is not in it");
    }
    return result;
  }

 private:
  // Names may hold a '-' themselves: the one that leaves two names of vertices.
  std::vector<bool> links_between() const {
    for (std::size_t dash = name_.find('-'); dash != std::string::npos; dash = name_.find('-', dash + 1)) {
      const std::optional<VertexId> a = cluster_.find(name_.substr(0, dash));
      const std::optional<VertexId> b = a ? cluster_.find(name_.substr(dash + 1)) : std::nullopt;
      if (!b) {
        continue;
      }
      return select(
          [&](const Link& link) { return (link.from == *a && link.to == *b) || (link.from == *b && link.to == *a); });
    }
    throw Error("no two vertices of these names", change_,
                "write link:NAME-NAME; `trainyard topology CLUSTER --output FILE` lists the names");
  }

  // One cable less of each link: with single ones that would be the whole switch or NIC.
  void require_bundles(const std::vector<bool>& affected) const {
    const auto count = [&](bool bundles) {
      std::size_t links = 0;
      for (std::size_t l = 0; l < affected.size(); ++l) {
        const Link& link = cluster_.links()[l];
        links += affected[l] && (!bundles || link.width > 1) ? 1 : 0;
      }
      return links;
    };
    const std::size_t all = count(false);
    const std::size_t bundles = count(true);
    if (bundles == 0) {
      throw Error(all == 1 ? "its one link is a single cable" : "each of its links is a single cable", change_,
                  "write =down for all of it, or link:NAME-NAME=down for one");
    }
    if (bundles < all) {
      throw Error(fmt::format("{} of its {} links are single cables, which would be down", all - bundles, all), change_,
                  "name the links with several: link:NAME-NAME=cable-down");
    }
  }

  std::string hint_for(const std::string& name) const {
    std::vector<std::string> names;
    names.reserve(cluster_.vertices().size());
    for (const Vertex& vertex : cluster_.vertices()) {
      names.push_back(vertex.name);
    }
    const std::string list = "`trainyard topology CLUSTER --output FILE` lists the names";
    const std::optional<std::string> meant = nearest_name(name, names);
    return meant ? "did you mean " + *meant + "? " + list : list;
  }

  std::vector<bool> links_of_vertex() const {
    if (subject_ != "switch" && subject_ != "nic") {
      throw Error("nothing that can change: \"" + subject_ + "\"", change_, kForms);
    }
    const std::optional<VertexId> vertex = cluster_.find(name_);
    if (!vertex) {
      throw Error("no vertex named \"" + name_ + "\"", change_, hint_for(name_));
    }
    const VertexKind kind = cluster_.vertex(*vertex).kind;
    const bool is_switch = is_fabric_switch(kind) || kind == VertexKind::kNvswitch || kind == VertexKind::kPcieSwitch;
    if (subject_ == "nic" ? kind != VertexKind::kNic : !is_switch) {
      throw Error(fmt::format("\"{}\" is a {}, not a {}", name_, to_string(kind), subject_), change_, kForms);
    }
    return select([&](const Link& link) {
      return (link.from == *vertex || link.to == *vertex) && (subject_ == "switch" || link.kind == LinkKind::kCable);
    });
  }

  template <class Matches>
  std::vector<bool> select(const Matches& matches) const {
    std::vector<bool> selected;
    bool any = false;
    for (const Link& link : cluster_.links()) {
      selected.push_back(matches(link));
      any = any || selected.back();
    }
    if (!any) {
      throw Error("no link there", change_, subject_ == "link" ? "the two aren't neighbours" : "it has no cable");
    }
    return selected;
  }

  // All but the links.
  Cluster emptied() const {
    Cluster result;
    result.name = cluster_.name;
    result.congestion_control = cluster_.congestion_control;
    result.notes = cluster_.notes;
    result.reserve(cluster_.vertices().size(), cluster_.links().size());
    for (const std::string& node : cluster_.nodes()) {
      result.add_node(node);
    }
    for (const DeviceType& type : cluster_.device_types()) {
      result.add_device_type(type);
    }
    for (const Cable& cable : cluster_.cables()) {
      result.add_cable(cable);
    }
    for (const Vertex& vertex : cluster_.vertices()) {
      result.add_vertex(vertex);
    }
    return result;
  }

  const Cluster& cluster_;
  const std::string& change_;
  std::string subject_;
  std::string name_;
  State state_;
};

}  // namespace

Cluster with_changes(const Cluster& cluster, std::span<const std::string> changes) {
  Cluster result = cluster;
  for (const std::string& change : changes) {
    result = Changer(result, change).apply();
  }
  return result;
}

}  // namespace trainyard::simulator
