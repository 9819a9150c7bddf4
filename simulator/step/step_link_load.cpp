#include "simulator/step/step_link_load.h"

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>

#include "core/error.h"
#include "simulator/collective/collective_sweep.h"
#include "simulator/step/communication_cost.h"

namespace trainyard::simulator {

namespace {

// What has the same groups and operation: sizes with how often each comes in a step.
struct Traffic {
  RoleId role;
  GroupId group;
  std::optional<int> peer;
  CollectiveOp op = CollectiveOp::kAllReduce;
  std::map<std::int64_t, std::int64_t> times;  // by size in bytes
};

std::vector<Traffic> traffic_of(const Program& program) {
  std::vector<Traffic> all;
  for (const Role& role : program.roles) {
    std::map<std::tuple<GroupId, CollectiveOp, int>, Traffic> of_role;
    for (const Instruction& instruction : role.instructions) {
      // A receive is the other side of a send.
      if (!instruction.communication || instruction.communication->kind == CommunicationKind::kRecv) {
        continue;
      }
      const Communication& communication = *instruction.communication;
      if (program.groups[communication.group.at()].size <= 1) {
        continue;
      }
      const CollectiveOp op = operation_of(communication.kind);
      Traffic& traffic = of_role[{communication.group, op, communication.peer_stage.value_or(-1)}];
      traffic.role = role.id;
      traffic.group = communication.group;
      traffic.peer = communication.peer_stage;
      traffic.op = op;
      ++traffic.times[communication.extent.expected.value()];
    }
    for (auto& [key, traffic] : of_role) {
      all.push_back(std::move(traffic));
    }
  }
  return all;
}

// Each group once: by its first member, whose role it is. A transfer's two ends, by the sender.
std::vector<std::vector<VertexId>> groups_of(const Program& program, const Traffic& traffic,
                                             const std::vector<VertexId>& gpus) {
  std::vector<std::vector<VertexId>> groups;
  const Group& group = program.groups[traffic.group.at()];
  for (std::size_t r = 0; r < program.bindings.size(); ++r) {
    if (program.bindings[r].role != traffic.role) {
      continue;
    }
    const Rank rank(static_cast<std::int64_t>(r));
    const std::vector<Rank> members = group_members(program, group, rank);
    if (traffic.peer) {
      groups.push_back({gpus[r], gpus[members.at(static_cast<std::size_t>(*traffic.peer)).at()]});
    } else if (members.front() == rank) {
      std::vector<VertexId>& devices = groups.emplace_back();
      for (const Rank member : members) {
        devices.push_back(gpus[member.at()]);
      }
    }
  }
  return groups;
}

class Adder {
 public:
  Adder(const Program& program, CollectiveFabric& fabric, const CollectiveModels& models,
        const FlowGroupOptions& options)
      : program_(program), fabric_(fabric), models_(models), options_(options), gpus_(fabric.cluster().gpus()) {
    if (program.bindings.size() > gpus_.size()) {
      throw Error(std::to_string(program.bindings.size()) + " ranks on " + std::to_string(gpus_.size()) + " GPUs",
                  fabric.cluster().name.empty() ? "the cluster" : fabric.cluster().name,
                  "a larger cluster, or fewer ranks");
    }
  }

  void add(const Traffic& traffic) {
    CollectiveQuestion question;
    question.op = traffic.op;
    question.groups = groups_of(program_, traffic, gpus_);
    question.setup = options_.setup;
    question.routing = options_.routing;
    question.sharp = options_.sharp;
    if (question.groups.empty()) {
      return;
    }
    const std::size_t members = question.groups.size() * question.groups.front().size();
    const CollectivePricer pricer(fabric_, models_, std::move(question));
    const std::vector<FlowAlgorithm> possible = pricer.algorithms();
    std::map<FlowAlgorithm, double> bytes;
    GroupLinkLoads& part = part_of(program_.groups[traffic.group.at()].kind);
    for (const auto& [size, times] : traffic.times) {
      const Bytes of = from_si<Bytes>(static_cast<double>(size));
      const FlowAlgorithm algorithm = nccls_choice(pricer.site(), traffic.op, of, possible, models_.facts);
      bytes[algorithm] += of.si() * static_cast<double>(times) * (traffic.peer ? 0.5 : 1.0);
      const auto ranks = static_cast<std::int64_t>(traffic.peer ? members / 2 : members);
      part.payload += ByteCount(size * times * ranks);
    }
    for (const auto& [algorithm, sum] : bytes) {
      part.loads.add(link_loads(fabric_, pricer, algorithm, from_si<Bytes>(sum)), 1.0);
    }
  }

  std::vector<GroupLinkLoads> take() { return std::move(parts_); }

 private:
  GroupLinkLoads& part_of(GroupKind kind) {
    const auto found =
        std::find_if(parts_.begin(), parts_.end(), [&](const GroupLinkLoads& part) { return part.kind == kind; });
    if (found != parts_.end()) {
      return *found;
    }
    parts_.push_back({kind, {}, {}});
    return parts_.back();
  }

  const Program& program_;
  CollectiveFabric& fabric_;
  const CollectiveModels& models_;
  const FlowGroupOptions& options_;
  std::vector<VertexId> gpus_;
  std::vector<GroupLinkLoads> parts_;
};

}  // namespace

std::vector<GroupLinkLoads> step_link_loads(const Program& program, CollectiveFabric& fabric,
                                            const CollectiveModels& models, const FlowGroupOptions& options,
                                            const std::function<bool(double)>& progress) {
  Adder adder(program, fabric, models, options);
  const std::vector<Traffic> all = traffic_of(program);
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (progress && !progress(static_cast<double>(i) / static_cast<double>(all.size()))) {
      break;
    }
    adder.add(all[i]);
  }
  return adder.take();
}

}  // namespace trainyard::simulator
