#include "simulator/planner/search_machine.h"

#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "core/document/nearest_name.h"
#include "core/error.h"
#include "simulator/collective/collective_models.h"
#include "simulator/collective/curve_group_cost.h"
#include "simulator/throughput/machine_rates.h"
#include "simulator/throughput/stack_library.h"

namespace trainyard::simulator {

namespace {

GpuGeneration links_of(const Accelerator& accelerator) {
  const std::string_view generation = generation_of(accelerator);
  const std::map<std::string_view, GpuGeneration> known = {
      {"volta", GpuGeneration::kVolta}, {"ampere", GpuGeneration::kAmpere},       {"hopper", GpuGeneration::kHopper},
      {"cdna3", GpuGeneration::kMi300}, {"blackwell", GpuGeneration::kBlackwell},
  };
  const auto found = known.find(generation);
  return found == known.end() ? GpuGeneration::kOther : found->second;
}

NodeLinks node_links(GpuGeneration generation) {
  switch (generation) {
    case GpuGeneration::kVolta:
      return NodeLinks::kCubeMesh;
    case GpuGeneration::kMi300:
    case GpuGeneration::kMi350:
      return NodeLinks::kXgmi;
    case GpuGeneration::kOther:
      return NodeLinks::kPcie;
    default:
      return NodeLinks::kNvswitch;
  }
}

// Shares the model among the pricers that threads ask for.
class SharedPricers {
 public:
  SharedPricers(const Workload& workload, const Machine& machine, std::shared_ptr<const GroupCost> groups)
      : model_(std::make_shared<const StepModel>(workload, machine, std::move(groups))) {}

  std::unique_ptr<LayoutPricer> operator()() const { return step_model_pricers(*model_)(); }

 private:
  std::shared_ptr<const StepModel> model_;
};

}  // namespace

CollectiveSite curve_site(const Machine& machine, const Machine& usual) {
  CollectiveSite node;
  node.accelerator = machine.accelerator.name;
  node.generation = links_of(machine.accelerator);
  node.links = node_links(node.generation);
  node.gpus_per_node = static_cast<int>(machine.fabric.ranks_per_node.value);
  node.nics = node.gpus_per_node;
  node.nic_rate = machine.fabric.nic_bandwidth.value;
  node.nvl_domain = node.gpus_per_node > 16;
  node.nvls = node.links == NodeLinks::kNvswitch && node.generation != GpuGeneration::kAmpere;
  node.framework = true;
  const double faster = machine.accelerator.intra_node_bandwidth.value / usual.accelerator.intra_node_bandwidth.value;
  if (faster != 1.0) {  // else as measured on the generation
    node.intra_bandwidth = faster * shipped_collective_models().facts.of(node.generation).links;
  }
  return node;
}

std::shared_ptr<const GroupCost> curve_groups(const Machine& machine, const Machine& usual) {
  return std::make_shared<CurveGroupCost>(curve_site(machine, usual), shipped_collective_models());
}

MachinePricers curve_pricers(const Machine& usual) {
  return [usual](const Workload& workload, const Machine& machine) -> PricerFactory {
    return SharedPricers(workload, machine, curve_groups(machine, usual));
  };
}

StackProfile find_stack(const Accelerator& accelerator, const std::string& name) {
  StackLibrary library = shipped_stacks();
  std::map<std::string, StackProfile> known = std::move(library.families);
  known.merge(library.stacks);
  const std::string generation(generation_of(accelerator));
  const std::vector<std::string> wanted =
      name.empty() ? std::vector<std::string>{generation + "-fused", "any-fused"} : std::vector<std::string>{name};
  for (const std::string& candidate : wanted) {
    if (const auto found = known.find(candidate); found != known.end()) {
      return found->second;
    }
  }
  std::vector<std::string> names;
  for (const auto& [known_name, stack] : known) {
    names.push_back(known_name);
  }
  const std::optional<std::string> near = nearest_name(wanted.front(), names);
  std::string hint = near ? "did you mean " + *near + "?" : "one of";
  for (const std::string& listed : near ? std::vector<std::string>{} : names) {
    hint += " " + listed;
  }
  throw Error("no stack profile '" + wanted.front() + "'", "--stack", hint);
}

MemoryHabits memory_habits(const StackProfile& stack) {
  MemoryHabits habits;
  habits.unfused_attention = stack.attention == AttentionKernel::kUnfused;
  habits.program = true;
  return habits;
}

}  // namespace trainyard::simulator
