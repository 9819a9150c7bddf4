#include "simulator/throughput/throughput_fit.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "simulator/collective/curve_group_cost.h"
#include "simulator/throughput/stack_fit.h"
#include "simulator/throughput/stack_priors.h"

namespace trainyard::simulator {

namespace {

constexpr int kSweeps = 6;

StackProfile profile_of(const StackLogs& logs) {
  StackProfile profile;
  for (std::size_t i = 0; i < logs.size(); ++i) {
    profile.constants.at(i) = std::exp(logs[i]);
  }
  return profile;
}

StackLogs prior_logs(const StackPriors& priors) {
  StackLogs logs{};
  for (std::size_t i = 0; i < logs.size(); ++i) {
    logs[i] = std::log(priors.at(i).value);
  }
  return logs;
}

// Means of stacks that families lean on, and of families that all lean on.
class Means {
 public:
  explicit Means(bool fused) : priors_(default_stack_priors(fused)), all_(prior_logs(priors_)) {}

  const StackPriors& priors() const { return priors_; }
  StackLogs family(const std::string& name) const {
    const auto found = families_.find(name);
    return found == families_.end() ? all_ : found->second;
  }

  // Stacks' logs by family; alternates the two closed forms.
  void update(const std::map<std::string, std::vector<StackLogs>>& members) {
    const StackLogs prior = prior_logs(priors_);
    for (int round = 0; round < 4; ++round) {
      for (std::size_t c = 0; c < kStackConstants; ++c) {
        const ConstantPrior& belief = priors_.at(c);
        const double stack = 1.0 / (belief.stack * belief.stack);
        const double family = 1.0 / (belief.family * belief.family);
        const double global = 1.0 / (belief.global * belief.global);
        double all_sum = prior.at(c) * global;
        double all_weight = global;
        for (const auto& [name, logs] : members) {
          double sum = all_.at(c) * family;
          double weight = family;
          for (const StackLogs& one : logs) {
            sum += stack * one.at(c);
            weight += stack;
          }
          families_[name].at(c) = sum / weight;
          all_sum += family * families_[name].at(c);
          all_weight += family;
        }
        all_.at(c) = all_sum / all_weight;
      }
    }
  }

  const std::map<std::string, StackLogs>& families() const { return families_; }
  const StackLogs& all() const { return all_; }

 private:
  StackPriors priors_;
  StackLogs all_;
  std::map<std::string, StackLogs> families_;
};

StackLogs logs_of(const StackProfile& profile) {
  StackLogs logs{};
  for (std::size_t i = 0; i < logs.size(); ++i) {
    logs[i] = std::log(std::max(profile.constants.at(i), kLeastConstant));
  }
  return logs;
}

struct StackRows {
  std::vector<StackFitRow> rows;
  std::string family;
  StackProfile profile;
  bool apart = false;  // leans on its family, which doesn't lean on it
};

// Rows of a source share its weight; those that stand apart are none of its.
std::string counted_as(const ThroughputCase& row) { return row.apart ? row.run.group : row.run.source_key; }

std::map<std::string, StackRows> by_stack(const std::vector<FitRow>& rows) {
  std::map<std::string, double> of_source;
  for (const FitRow& row : rows) {
    of_source[counted_as(*row.row)] += 1.0;
  }
  std::map<std::string, StackRows> stacks;
  for (const FitRow& row : rows) {
    StackRows& stack = stacks[row.stack];
    const SoftwareWords& software = row.row->software;
    stack.family = family_of(software);
    stack.apart = row.row->apart;
    StackProfile& profile = stack.profile;
    profile.name = row.stack;
    profile.date = std::max(profile.date, std::to_string(software.year));
    profile.software = software.kind;
    profile.generation = software.generation;
    take_habits(software, profile);
    const std::string& source = row.row->run.source_key;
    const std::string& group = row.row->run.group;
    if (std::find(profile.groups.begin(), profile.groups.end(), group) == profile.groups.end()) {
      profile.groups.push_back(group);
    }
    if (std::find(profile.sources.begin(), profile.sources.end(), source) == profile.sources.end()) {
      profile.sources.push_back(source);
    }
    stack.rows.push_back({row.pricer.get(), row.row->step_s(), std::pow(of_source.at(counted_as(*row.row)), -0.4)});
  }
  return stacks;
}

}  // namespace

std::shared_ptr<const GroupCost> group_cost_of(const DescribedMachine& machine) {
  return std::make_shared<CurveGroupCost>(machine.node, shipped_collective_models());
}

CasePricer::CasePricer(const ThroughputCase& row, std::shared_ptr<const GroupCost> groups)
    : row_(&row),
      model_(row.workload, Machine{row.machine.accelerator, row.machine.fabric, StackProfile()}, std::move(groups)) {}

StepPrice CasePricer::price(const StackProfile& stack, Layout* chosen) {
  model_.use_stack(stack);
  std::vector<std::pair<double, const Layout*>> times;
  for (const Layout& layout : row_->layouts) {
    times.emplace_back(model_.price(layout).step_time.si(), &layout);
  }
  std::sort(times.begin(), times.end());
  const Layout& layout = *times.at((times.size() - 1) / 2).second;
  if (chosen != nullptr) {
    *chosen = layout;
  }
  return model_.price(layout);
}

double CasePricer::spread(const StackProfile& stack) {
  if (row_->layouts.size() < 2) {
    return 0.0;
  }
  model_.use_stack(stack);
  double low = 0.0;
  double high = 0.0;
  for (const Layout& layout : row_->layouts) {
    const double time = model_.price(layout).step_time.si();
    low = low == 0.0 ? time : std::min(low, time);
    high = std::max(high, time);
  }
  return 0.5 * std::log(high / low);
}

double CasePricer::step_s(const StackProfile& stack) { return price(stack).step_time.si(); }

std::vector<FitRow> fit_rows(const std::vector<ThroughputCase>& cases) {
  std::map<std::string, std::shared_ptr<const GroupCost>> costs;
  std::vector<FitRow> rows;
  for (const ThroughputCase& row : cases) {
    if (!row.reason.empty()) {
      continue;
    }
    const CollectiveSite& node = row.machine.node;
    const std::string key = node.accelerator + std::to_string(node.gpus_per_node) + std::to_string(node.nic_rate.si()) +
                            std::to_string(static_cast<int>(node.fabric)) +
                            std::to_string(static_cast<int>(node.links));
    std::shared_ptr<const GroupCost>& cost = costs[key];
    if (!cost) {
      cost = group_cost_of(row.machine);
    }
    rows.push_back({&row, std::make_shared<CasePricer>(row, cost), stack_name(row)});
  }
  return rows;
}

StackLibrary fit_stacks(const std::vector<FitRow>& rows, const StackLibrary* start) {
  std::map<std::string, StackRows> stacks = by_stack(rows);
  std::map<bool, Means> means = {{false, Means(false)}, {true, Means(true)}};
  std::map<std::string, StackLogs> logs;
  for (auto& [name, stack] : stacks) {
    const Means& mean = means.at(stack.profile.fused);
    const bool known = start != nullptr && start->stacks.contains(name);
    logs[name] = known ? logs_of(start->stacks.at(name)) : mean.family(stack.family);
  }
  const auto update_means = [&] {
    for (auto& [fused, mean] : means) {
      std::map<std::string, std::vector<StackLogs>> members;
      for (const auto& [name, stack] : stacks) {
        if (stack.profile.fused == fused && !stack.apart) {
          members[stack.family].push_back(logs.at(name));
        }
      }
      mean.update(members);
    }
  };
  update_means();
  for (int sweep = 0; sweep < (start != nullptr ? 2 : kSweeps); ++sweep) {
    for (auto& [name, stack] : stacks) {
      const Means& mean = means.at(stack.profile.fused);
      logs[name] = fit_stack(stack.rows, stack.profile, mean.family(stack.family), mean.priors(), logs.at(name));
    }
    update_means();
  }
  StackLibrary library;
  for (auto& [name, stack] : stacks) {
    stack.profile.constants = profile_of(logs.at(name)).constants;
    library.stacks[name] = stack.profile;
  }
  for (const auto& [fused, mean] : means) {
    for (const auto& [name, family] : mean.families()) {
      StackProfile profile = profile_of(family);
      profile.name = name;
      profile.generation = name.substr(0, name.find('-'));
      profile.fused = fused;
      profile.fused_accumulation = fused;
      profile.attention = AttentionKernel::kCudnn;
      library.families[name] = profile;
    }
    StackProfile all = profile_of(mean.all());
    all.name = fused ? "any-fused" : "any-eager";
    all.fused = fused;
    all.fused_accumulation = fused;
    library.families[all.name] = all;
  }
  return library;
}

}  // namespace trainyard::simulator
