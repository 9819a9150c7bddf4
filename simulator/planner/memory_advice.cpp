#include "simulator/planner/memory_advice.h"

#include <fmt/format.h>

#include <functional>
#include <utility>
#include <vector>

namespace trainyard::simulator {

namespace {

// Nothing where the change doesn't apply.
struct Change {
  std::string name;
  std::optional<Layout> layout;
};

std::optional<Layout> twice(const ModelSpec& model, Layout layout, int Layout::*degree) {
  if (layout.data % 2 != 0) {
    return std::nullopt;
  }
  layout.data /= 2;
  layout.accumulation *= 2;
  layout.*degree *= 2;
  const std::int64_t heads = model.latent_attention ? model.heads : model.key_value_heads;
  const std::int64_t chunks = std::int64_t{layout.pipeline} * layout.chunks_per_stage;
  if (heads % layout.tensor != 0 || model.feed_forward % layout.tensor != 0 || chunks > model.layers) {
    return std::nullopt;
  }
  if (layout.schedule == ScheduleKind::kInterleaved && layout.accumulation % layout.pipeline != 0) {
    return std::nullopt;
  }
  if (!layout.chunk_layers.empty() && degree == &Layout::pipeline) {
    layout.chunk_layers.clear();
  }
  if (degree == &Layout::pipeline && layout.pipeline == 2) {
    layout.schedule = ScheduleKind::k1f1b;
  }
  return layout;
}

std::vector<Change> recomputations(const Layout& layout) {
  std::vector<Change> changes;
  const auto add = [&](std::string name, Recompute recompute, int every) {
    Layout changed = layout;
    changed.recompute = recompute;
    changed.recompute_every = every;
    changes.push_back({std::move(name), changed});
  };
  if (layout.recompute == Recompute::kNone) {
    add("selective recomputation", Recompute::kSelective, 1);
  }
  for (const int every : {4, 2, 1}) {
    if (layout.recompute != Recompute::kFull || layout.recompute_every > every) {
      add(every == 1 ? "full recomputation" : fmt::format("recomputation of one layer in {}", every), Recompute::kFull,
          every);
    }
  }
  return changes;
}

std::vector<Change> changes_of(const ModelSpec& model, const Workload& workload, const Layout& layout) {
  std::vector<Change> changes = recomputations(layout);
  const auto add = [&](std::string name, const std::function<void(Layout&)>& change) {
    Layout changed = layout;
    change(changed);
    changes.push_back({std::move(name), changed});
  };
  if (layout.micro_batch % 2 == 0) {
    add(fmt::format("micro-batch {} instead of {}", layout.micro_batch / 2, layout.micro_batch), [](Layout& l) {
      l.micro_batch /= 2;
      l.accumulation *= 2;
    });
  }
  for (int stage = layout.zero_stage + 1; stage <= 3 && layout.data * layout.context > 1; ++stage) {
    add(fmt::format("ZeRO {}", stage), [stage](Layout& l) { l.zero_stage = stage; });
  }
  const std::int64_t tokens = workload.sequence * layout.micro_batch / layout.context;
  if (layout.tensor > 1 && !layout.sequence_parallel && tokens % layout.tensor == 0) {
    add("sequence parallelism", [](Layout& l) { l.sequence_parallel = true; });
  }
  changes.push_back(
      {fmt::format("tensor parallelism over {}", 2 * layout.tensor), twice(model, layout, &Layout::tensor)});
  changes.push_back({fmt::format("{} pipeline stages", 2 * layout.pipeline), twice(model, layout, &Layout::pipeline)});
  if (workload.sequence % (4 * std::int64_t{layout.context}) == 0) {
    changes.push_back(
        {fmt::format("context parallelism over {}", 2 * layout.context), twice(model, layout, &Layout::context)});
  }
  if (!layout.offload.optimizer) {
    add("the optimizer in host memory", [](Layout& l) { l.offload.optimizer = true; });
  }
  if (!layout.offload.activations) {
    add("activations in host memory", [](Layout& l) { l.offload.activations = true; });
  }
  std::erase_if(changes, [](const Change& change) { return !change.layout; });
  return changes;
}

}  // namespace

std::optional<FittingChange> cheapest_fit(const MemoryModel& memory, LayoutPricer& pricer, const Workload& workload,
                                          const Layout& layout) {
  std::optional<FittingChange> best;
  const auto consider = [&](const std::string& name, const Layout& changed) {
    const MemoryPrice price = memory.price(changed);
    if (price.total > memory.available()) {
      return;
    }
    const StepPrice step = pricer.price(changed);
    if (!best || step.step_time < best->result.step.step_time) {
      best = FittingChange{name, RankedLayout{changed, step, price, 0, 0, 0}};
    }
  };
  const std::vector<Change> once = changes_of(workload.model, workload, layout);
  for (const Change& change : once) {
    consider(change.name, *change.layout);
  }
  if (best) {
    return best;
  }
  for (const Change& first : once) {
    for (const Change& second : changes_of(workload.model, workload, *first.layout)) {
      consider(first.name + " and " + second.name, *second.layout);
    }
  }
  return best;
}

}  // namespace trainyard::simulator
