#include "simulator/planner/sensitivity.h"

#include <utility>

namespace trainyard::simulator {

namespace {

constexpr double kGigabyte = 1e9;

template <class Change>
MachineChange changed(const Machine& machine, std::string what, Change change) {
  MachineChange result{std::move(what), machine};
  change(result.machine);
  return result;
}

}  // namespace

std::vector<MachineChange> usual_changes(const Machine& machine) {
  std::vector<MachineChange> changes;
  const auto add = [&](std::string what, auto change) { changes.push_back(changed(machine, std::move(what), change)); };
  for (const auto& [word, factor] : {std::pair{"doubled", 2.0}, std::pair{"halved", 0.5}}) {
    const double f = factor;
    const std::string end = std::string(" ") + word;
    add("NIC bandwidth" + end, [f](Machine& m) { m.fabric.nic_bandwidth.value *= f; });
    add("bandwidth in the node" + end, [f](Machine& m) { m.accelerator.intra_node_bandwidth.value *= f; });
    add("memory bandwidth" + end, [f](Machine& m) { m.accelerator.memory_bandwidth.value *= f; });
    add("peak" + end, [f](Machine& m) {
      for (auto& [type, peak] : m.accelerator.dense_peak) {
        peak.value *= f;
      }
    });
    changes.push_back({"gradient buckets" + end, machine, f});
  }
  for (const int gigabytes : {141, 192, 288}) {
    const ByteCount memory(static_cast<std::int64_t>(gigabytes * kGigabyte));
    if (memory > machine.accelerator.memory.value) {
      add(std::to_string(gigabytes) + " GB of memory", [memory](Machine& m) { m.accelerator.memory.value = memory; });
    }
  }
  return changes;
}

std::vector<MachineSensitivity> sensitivities(const SearchRequest& request, const RankedLayout& today,
                                              const std::vector<MachineChange>& changes, const MachinePricers& pricers,
                                              const std::stop_token& stop) {
  std::vector<MachineSensitivity> result;
  for (const MachineChange& change : changes) {
    SearchRequest changed = request;
    changed.machine = change.machine;
    changed.keep = 1;
    const auto buckets = [&change](ByteCount bytes) {
      return ByteCount(static_cast<std::int64_t>(static_cast<double>(bytes.value()) * change.bucket_factor));
    };
    changed.space.base.bucket_bytes = buckets(changed.space.base.bucket_bytes);
    Layout same = today.layout;
    same.bucket_bytes = buckets(same.bucket_bytes);
    const PricerFactory factory = pricers(request.space.workload, change.machine);
    const SearchResult found = search_layouts(changed, factory, {}, stop);
    if (found.stopped) {
      break;
    }
    MachineSensitivity entry;
    entry.what = change.what;
    entry.feasible = !found.best.empty();
    const StepPrice step = factory()->price(same);
    entry.same_layout = today.step.step_time / step.step_time;
    if (entry.feasible) {
      entry.best = found.best.front();
      // Today's may have been refined beyond what a search visits (stage splits).
      if (step.step_time < entry.best.step.step_time) {
        entry.best = today;
        entry.best.layout = same;
        entry.best.step = step;
      }
      entry.speedup = today.step.step_time / entry.best.step.step_time;
      entry.changes_layout = entry.best.layout != same;
    }
    result.push_back(std::move(entry));
  }
  return result;
}

}  // namespace trainyard::simulator
