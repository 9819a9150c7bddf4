#include "simulator/fabric/queue.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <map>

#include "core/units/format_quantity.h"
#include "simulator/fabric/fair_share.h"

namespace trainyard::simulator {

namespace {

constexpr double kInfinite = std::numeric_limits<double>::infinity();
constexpr double kThreshold = 1.0;  // a of the dynamic thresholds
constexpr double kDeepBytes = 8e9;
constexpr double kShallowBytes = 64e6;
constexpr double kTolerance = 1e-9;

double share_of_buffer(double buffer, std::size_t full_ports) {
  return buffer * kThreshold / (1.0 + kThreshold * static_cast<double>(full_ports));
}

class Queues {
 public:
  Queues(const Cluster& cluster, const FlowSet& flows, const QueueOptions& options)
      : cluster_(cluster),
        flows_(flows),
        options_(options),
        control_(options.control ? options.control : cluster.congestion_control),
        arrival_(cluster.arcs(), 0.0),
        bytes_(arrival_.size(), 0.0),
        in_flight_(arrival_.size(), 0.0),
        count_(arrival_.size(), 0) {}

  std::vector<PortQueue> find() {
    send();
    std::vector<PortQueue> queues;
    std::map<VertexId, std::size_t> full_ports;
    for (std::size_t a = 0; a < arrival_.size(); ++a) {
      const ArcId arc(static_cast<std::int64_t>(a));
      if (leaves_a_switch(arc) && arrival_[a] > capacity(arc) * (1.0 + kTolerance)) {
        queues.push_back(queue_at(arc));
        ++full_ports[cluster_.tail(arc)];
      }
    }
    for (PortQueue& queue : queues) {
      judge(queue, full_ports[cluster_.tail(queue.arc)]);
    }
    std::stable_sort(queues.begin(), queues.end(),
                     [](const PortQueue& a, const PortQueue& b) { return b.need < a.need; });
    return queues;
  }

 private:
  double capacity(ArcId arc) const { return cluster_.bandwidth(arc).si(); }
  bool leaves_a_switch(ArcId arc) const { return is_fabric_switch(cluster_.vertex(cluster_.tail(arc)).kind); }

  // Rates at which hosts send: fair shares of what lies before the first switch.
  std::vector<BytesPerSecond> offered() const {
    FlowSet inside;
    std::vector<ArcUse> uses;
    for (std::size_t f = 0; f < flows_.flows().size(); ++f) {
      uses.clear();
      for (const ArcUse& use : flows_.uses_of_flow(f)) {
        if (leaves_a_switch(use.arc)) {
          break;
        }
        uses.push_back(use);
      }
      const LegUse leg{inside.add_leg(uses, Seconds())};
      inside.add(flows_.flows()[f], {&leg, 1});
    }
    return max_min_rates(cluster_, inside).rate;
  }

  // Arrivals settle in as many rounds as a path has switches: a full port passes on what it drains.
  void send() {
    const std::vector<BytesPerSecond> rates = offered();
    std::vector<double> passed(arrival_.size(), 1.0);
    for (int round = 0; round < 16; ++round) {
      std::fill(arrival_.begin(), arrival_.end(), 0.0);
      for (std::size_t f = 0; f < rates.size(); ++f) {
        if (rates[f].si() == kInfinite) {
          continue;
        }
        double left = rates[f].si();
        for (const ArcUse& use : flows_.uses_of_flow(f)) {
          arrival_[use.arc.at()] += left * use.weight;
          if (use.weight == 1.0) {  // of sprayed ways each is a small part
            left *= passed[use.arc.at()];
          }
        }
      }
      bool settled = true;
      for (std::size_t a = 0; a < arrival_.size(); ++a) {
        const ArcId arc(static_cast<std::int64_t>(a));
        const double now = leaves_a_switch(arc) && arrival_[a] > 0.0 ? std::min(1.0, capacity(arc) / arrival_[a]) : 1.0;
        settled = settled && std::abs(now - passed[a]) <= kTolerance;
        passed[a] = now;
      }
      if (settled) {
        break;
      }
    }
    const double most = options_.in_flight ? options_.in_flight->si() : kInfinite;
    for (std::size_t f = 0; f < rates.size(); ++f) {
      const double bytes = flows_.flows()[f].bytes.si();
      for (const ArcUse& use : flows_.uses_of_flow(f)) {
        bytes_[use.arc.at()] += bytes * use.weight;
        in_flight_[use.arc.at()] += std::min(bytes, most) * use.weight;
        ++count_[use.arc.at()];
      }
    }
  }

  PortQueue queue_at(ArcId arc) const {
    const double arrival = arrival_[arc.at()];
    const double drain = capacity(arc);
    double burst = bytes_[arc.at()] / arrival;
    if (options_.reaction) {
      burst = std::min(burst, options_.reaction->si());
    }
    const double need = std::min((arrival - drain) * burst, in_flight_[arc.at()]);
    PortQueue queue;
    queue.arc = arc;
    queue.arrival = from_si<BytesPerSecond>(arrival);
    queue.drain = from_si<BytesPerSecond>(drain);
    queue.burst = from_si<Seconds>(burst);
    queue.need = from_si<Bytes>(need);
    queue.delay = queue.need / queue.drain;
    queue.flows = count_[arc.at()];
    return queue;
  }

  void judge(PortQueue& queue, std::size_t full_ports) const {
    const double need = queue.need.si();
    if (need > share_of_buffer(kShallowBytes, full_ports)) {
      queue.deep = need <= share_of_buffer(kDeepBytes, full_ports) ? DeepBuffer::kHelps : DeepBuffer::kTooSmallToo;
    }
    const DeviceTypeId type = cluster_.vertex(cluster_.tail(queue.arc)).type;
    const std::vector<DeviceType>& types = cluster_.device_types();
    if (type.at() >= types.size() || !types[type.at()].buffer) {
      queue.outcome = QueueOutcome::kUnknown;
      return;
    }
    queue.available = from_si<Bytes>(share_of_buffer(types[type.at()].buffer->quantity().si(), full_ports));
    if (queue.need <= *queue.available) {
      return;
    }
    if (control_ == CongestionControl::kLossy) {
      queue.outcome = QueueOutcome::kDrops;
      queue.lost = queue.need - *queue.available;
      return;
    }
    queue.outcome = QueueOutcome::kPauses;
    queue.victims = victims_of(queue.arc);
    queue.victim_slowdown = queue.victims > 0 ? queue.arrival / queue.drain : 1.0;
  }

  std::size_t victims_of(ArcId full) const {
    std::vector<bool> pausing(arrival_.size(), false);
    std::vector<bool> uses_port(flows_.flows().size(), false);
    const VertexId at = cluster_.tail(full);
    for (std::size_t f = 0; f < uses_port.size(); ++f) {
      const std::vector<ArcUse> uses = flows_.uses_of_flow(f);
      uses_port[f] = std::any_of(uses.begin(), uses.end(), [&](const ArcUse& use) { return use.arc == full; });
      for (const ArcUse& use : uses) {
        if (uses_port[f] && cluster_.head(use.arc) == at) {
          pausing[use.arc.at()] = true;
        }
      }
    }
    std::size_t victims = 0;
    for (std::size_t f = 0; f < uses_port.size(); ++f) {
      const std::vector<ArcUse> uses = uses_port[f] ? std::vector<ArcUse>() : flows_.uses_of_flow(f);
      victims +=
          std::any_of(uses.begin(), uses.end(), [&](const ArcUse& use) { return pausing[use.arc.at()]; }) ? 1 : 0;
    }
    return victims;
  }

  const Cluster& cluster_;
  const FlowSet& flows_;
  QueueOptions options_;
  std::optional<CongestionControl> control_;
  // By arc.
  std::vector<double> arrival_;
  std::vector<double> bytes_;
  std::vector<double> in_flight_;
  std::vector<std::size_t> count_;
};

}  // namespace

std::string_view to_string(QueueOutcome outcome) {
  constexpr std::array<std::string_view, 4> kNames = {"absorbed", "pauses", "drops", "unknown"};
  return kNames[static_cast<std::size_t>(outcome)];
}

std::string_view to_string(DeepBuffer deep) {
  constexpr std::array<std::string_view, 3> kNames = {"not needed", "helps", "too small too"};
  return kNames[static_cast<std::size_t>(deep)];
}

std::vector<PortQueue> find_queues(const Cluster& cluster, const FlowSet& flows, const QueueOptions& options) {
  return Queues(cluster, flows, options).find();
}

std::string describe(const Cluster& cluster, const PortQueue& queue) {
  std::string text =
      fmt::format("{} -> {}: {} arrive, {} drain, for {}; needs {}", cluster.vertex(cluster.tail(queue.arc)).name,
                  cluster.vertex(cluster.head(queue.arc)).name, format_quantity(queue.arrival),
                  format_quantity(queue.drain), format_quantity(queue.burst), format_quantity(queue.need));
  text += queue.available ? fmt::format(" of {} available", format_quantity(*queue.available))
                          : std::string(", the switch's buffer isn't known");
  if (queue.outcome == QueueOutcome::kPauses) {
    text += queue.victims == 0 ? "; pauses, no other flow behind it"
                               : fmt::format("; pauses, {} other flows behind it up to {:.1f} times slower",
                                             queue.victims, queue.victim_slowdown);
  } else if (queue.outcome == QueueOutcome::kDrops) {
    text += fmt::format("; drops {}", format_quantity(queue.lost));
  }
  return text + fmt::format("; a deep buffer: {}", to_string(queue.deep));
}

}  // namespace trainyard::simulator
