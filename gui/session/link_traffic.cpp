#include "gui/session/link_traffic.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "core/error.h"
#include "core/units/format_quantity.h"
#include "simulator/collective/collective_sweep.h"
#include "simulator/collective/link_load.h"
#include "simulator/fabric/what_if.h"
#include "simulator/step/step_link_load.h"

namespace trainyard::gui {

namespace {

using simulator::CollectiveFabric;
using simulator::CollectivePricer;
using simulator::CollectiveQuestion;

std::vector<std::vector<VertexId>> groups_of(const TrafficQuestion& question, const Cluster& cluster) {
  const std::vector<VertexId> gpus = cluster.gpus();
  if (!question.simulation) {
    return {gpus};
  }
  const Mesh mesh(question.simulation->plan.layout);
  if (mesh.ranks() > static_cast<std::int64_t>(gpus.size())) {
    throw Error(fmt::format("{} ranks on {} GPUs", mesh.ranks(), gpus.size()), "the plan", "a larger cluster");
  }
  std::vector<std::vector<VertexId>> groups;
  if (!question.axis) {
    groups.emplace_back(gpus.begin(), gpus.begin() + mesh.ranks());
  } else {
    for (const std::vector<Rank>& members : mesh.groups(*question.axis)) {
      std::vector<VertexId>& group = groups.emplace_back();
      for (const Rank rank : members) {
        group.push_back(gpus[rank.at()]);
      }
    }
  }
  if (groups.front().size() < 2) {
    throw Error("groups of one rank, which have nothing to send",
                question.axis ? std::string(to_string(*question.axis)) : "the plan", "another axis");
  }
  return groups;
}

void fill(LinkTraffic& traffic, const Cluster& cluster, const simulator::LinkLoads& loads) {
  for (std::size_t l = 0; l < cluster.links().size(); ++l) {
    const LinkId link(static_cast<std::int64_t>(l));
    const std::array<ArcId, 2> arcs = {forward_arc(link), reverse_arc(link)};
    const auto bytes = [&](ArcId arc) {
      return ByteCount(loads.empty() ? 0 : static_cast<std::int64_t>(loads.carried[arc.at()].si()));
    };
    traffic.busy.push_back(static_cast<float>(
        std::max(loads.busy(cluster, arcs[0], traffic.time), loads.busy(cluster, arcs[1], traffic.time))));
    traffic.forward.push_back(bytes(arcs[0]));
    traffic.reverse.push_back(bytes(arcs[1]));
  }
  traffic.notes.insert(traffic.notes.end(), loads.notes.begin(), loads.notes.end());
}

CollectiveQuestion collective_of(const TrafficQuestion& question, const Cluster& cluster) {
  CollectiveQuestion collective;
  collective.op = *question.op;
  collective.groups = groups_of(question, cluster);
  collective.routing.kind = simulator::default_routing(cluster);
  return collective;
}

simulator::SweepRow priced(CollectivePricer& pricer, const simulator::CollectiveModels& models, ByteCount size) {
  const std::array<Bytes, 1> sizes = {size.quantity()};
  return simulator::sweep(pricer, models, sizes, {}).front();
}

LinkTraffic of_collective(const TrafficQuestion& question, const Cluster& cluster) {
  const simulator::CollectiveModels models = simulator::shipped_collective_models();
  CollectiveFabric fabric(cluster);
  CollectivePricer pricer(fabric, models, collective_of(question, cluster));
  const simulator::SweepRow row = priced(pricer, models, question.size);
  LinkTraffic traffic;
  traffic.time = row.price.time;
  fill(traffic, cluster, simulator::link_loads(fabric, pricer, row.price.algorithm, question.size.quantity()));
  traffic.text = fmt::format(
      "{} of {} in {} group{} of {}: {}, {} on the bus, by {}", to_string(*question.op), format_quantity(question.size),
      pricer.groups().size(), pricer.groups().size() == 1 ? "" : "s", pricer.groups().front().size(),
      format_quantity(traffic.time), format_quantity(row.price.bus_bandwidth), to_string(row.price.algorithm));
  return traffic;
}

LinkTraffic of_step(const TrafficQuestion& question, const Cluster& cluster, const TrafficProgress& progress) {
  const Program& program = question.simulation->simulation.program;
  CollectiveFabric fabric(cluster);
  const auto parts = simulator::step_link_loads(program, fabric, simulator::shipped_collective_models(),
                                                simulator::usual_flow_options(cluster), progress);
  LinkTraffic traffic;
  traffic.time = to_seconds(question.simulation->simulation.step.duration);
  simulator::LinkLoads sum;
  ByteCount payload;
  for (const simulator::GroupLinkLoads& part : parts) {
    traffic.parts.push_back(part.kind);
    if (!question.part || *question.part == part.kind) {
      sum.add(part.loads, 1.0);
      payload += part.payload;
    }
  }
  fill(traffic, cluster, sum);
  traffic.text = fmt::format("{} of one step: {} asked for by all ranks, over {}",
                             question.part ? fmt::format("{} groups", to_string(*question.part)) : "all communication",
                             format_quantity(payload), format_quantity(traffic.time));
  return traffic;
}

}  // namespace

LinkTraffic link_traffic(const TrafficQuestion& question, const TrafficProgress& progress) {
  check(question.problem && question.problem->cluster, "traffic needs a cluster");
  const Cluster& cluster = *question.problem->cluster;
  if (question.op) {
    return of_collective(question, cluster);
  }
  check(question.simulation != nullptr, "a step needs a plan");
  return of_step(question, cluster, progress);
}

FailureEffect effect_of(const TrafficQuestion& question, const std::string& change) {
  const Cluster& cluster = *question.problem->cluster;
  const std::array<std::string, 1> changes = {change};
  const Cluster changed = simulator::with_changes(cluster, changes);
  FailureEffect effect;
  effect.change = change;
  try {
    if (question.op) {
      const simulator::CollectiveModels models = simulator::shipped_collective_models();
      CollectiveFabric fabric(cluster);
      CollectivePricer pricer(fabric, models, collective_of(question, cluster));
      effect.before = priced(pricer, models, question.size).price.time;
      CollectiveFabric around(changed);
      CollectivePricer without(around, models, pricer.question(), pricer);
      effect.after = priced(without, models, question.size).price.time;
    } else {
      effect.before = to_seconds(question.simulation->simulation.step.duration);
      Problem problem = *question.problem;
      problem.cluster = std::make_shared<const Cluster>(changed);
      effect.after = to_seconds(simulate(problem, question.simulation->plan.layout)->simulation.step.duration);
    }
  } catch (const Error& error) {  // a rank that nothing reaches any more is an answer
    effect.cut = error.problem() + ": " + error.where();
  }
  return effect;
}

}  // namespace trainyard::gui
