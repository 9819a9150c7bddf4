#include "simulator/failure/plan_checkpoint.h"

#include <algorithm>
#include <span>

#include "core/error.h"
#include "core/layout/mesh.h"
#include "core/layout/tensor_sharding.h"
#include "core/model/parameter.h"
#include "core/program/gradient_group.h"
#include "core/program/stage.h"

namespace trainyard::simulator {

namespace {

constexpr double kMaster = 4.0;

// Bytes of a parameter that ZeRO 3 shares out, and that ZeRO 1 does.
struct ElementBytes {
  double parameter = 0.0;
  double optimizer = 0.0;
  double all() const { return parameter + optimizer; }
};

ElementBytes element_bytes(const Layout& layout, OptimizerKind optimizer) {
  ElementBytes bytes;
  bytes.parameter = stored_bytes(layout.parameter_type);
  const double moments = optimizer == OptimizerKind::kAdamW ? 2.0 : 1.0;
  bytes.optimizer = (bytes.parameter < kMaster ? kMaster : 0.0) + moments * stored_bytes(layout.optimizer_type);
  return bytes;
}

// Elements of a stage on one tensor-parallel rank: of dense parameters and of experts.
struct StageElements {
  double dense = 0.0;
  double expert = 0.0;
};

bool is_expert(const Parameter& parameter) {
  switch (parameter.kind) {
    case ParameterKind::kExpertGate:
    case ParameterKind::kExpertUp:
    case ParameterKind::kExpertGateUp:
    case ParameterKind::kExpertDown:
      return true;
    default:
      return false;
  }
}

class Counter {
 public:
  Counter(const ModelSpec& model, const Layout& layout) : model_(model), layout_(layout), mesh_(layout) {
    // The last rank of an axis has the largest slice (shard_spec.h).
    last_.tensor = layout.tensor - 1;
    last_.expert = layout.expert - 1;
    last_.expert_tensor = layout.expert_tensor - 1;
  }

  StageElements layer(int index) const {
    StageElements sum;
    for (const Parameter& parameter : layer_parameters(model_, index)) {
      add(sum, parameter);
    }
    return sum;
  }

  // Outside layers: embedding and positions; norm and head; multi-token blocks.
  void add(StageElements& sum, const Parameter& parameter) const {
    const bool expert = is_expert(parameter);
    const auto local = static_cast<double>(local_elements(tensor_sharding(model_, parameter), mesh_, last_));
    if (expert) {
      // Experts stored one by one are dealt out over ep: on average, exactly where ep divides them.
      sum.expert += local / (parameter.expert ? layout_.expert : 1);
    } else {
      sum.dense += local;
    }
  }

 private:
  const ModelSpec& model_;
  const Layout& layout_;
  Mesh mesh_;
  Coordinates last_;
};

void add(StageElements& sum, const StageElements& more) {
  sum.dense += more.dense;
  sum.expert += more.expert;
}

bool is_input(ParameterKind kind) {
  return kind == ParameterKind::kEmbedding || kind == ParameterKind::kPositionEmbedding ||
         kind == ParameterKind::kEmbeddingNorm;
}

std::vector<StageElements> stage_elements(const ModelSpec& model, const Layout& layout) {
  const Counter counter(model, layout);
  std::vector<StageElements> layers;
  for (int layer = 0; layer < model.layers; ++layer) {
    layers.push_back(counter.layer(layer));
  }
  StageElements input;
  StageElements output;
  StageElements table;
  for (const Parameter& parameter : parameters(model)) {
    if (!parameter.layer) {
      counter.add(is_input(parameter.kind) ? input : output, parameter);
      if (parameter.kind == ParameterKind::kEmbedding) {
        counter.add(table, parameter);
      }
    }
  }
  for (const Parameter& parameter : multi_token_parameters(model)) {
    counter.add(output, parameter);
  }
  std::vector<StageElements> stages(static_cast<std::size_t>(layout.pipeline));
  for (int stage = 0; stage < layout.pipeline; ++stage) {
    StageElements& sum = stages[static_cast<std::size_t>(stage)];
    bool embeds = false;
    for (const Chunk& chunk : stage_chunks(model, layout, stage)) {
      for (std::int64_t layer = chunk.layers.begin; layer < chunk.layers.end; ++layer) {
        add(sum, layers[static_cast<std::size_t>(layer)]);
      }
      embeds = embeds || chunk.embeds;
      add(sum, chunk.embeds ? input : StageElements());
      add(sum, chunk.has_head ? output : StageElements());
      // A tied table that the stage doesn't hold already.
      add(sum, chunk.has_head && model.tied_embeddings && !embeds ? table : StageElements());
    }
  }
  return stages;
}

Ranged<Seconds> over(double bytes, const Published<BytesPerSecond>& rate, double limit) {
  const auto time = [&](BytesPerSecond of) {
    return from_si<Seconds>(bytes / (limit > 0.0 ? std::min(limit, of.si()) : of.si()));
  };
  return {time(rate.value), time(rate.high), time(rate.low)};
}

Ranged<Seconds> exact(double bytes, double rate) {
  const Seconds time = from_si<Seconds>(rate > 0.0 ? bytes / rate : 0.0);
  return {time, time, time};
}

Ranged<Seconds> slower(const Ranged<Seconds>& a, const Ranged<Seconds>& b) {
  return {max(a.value, b.value), max(a.low, b.low), max(a.high, b.high)};
}

Ranged<Seconds> sum(const Ranged<Seconds>& a, const Ranged<Seconds>& b) {
  return {a.value + b.value, a.low + b.low, a.high + b.high};
}

}  // namespace

CheckpointSize checkpoint_size(const ModelSpec& model, const Layout& layout, OptimizerKind optimizer) {
  const ElementBytes bytes = element_bytes(layout, optimizer);
  CheckpointSize size;
  size.bytes_per_parameter = bytes.all();
  const auto count = static_cast<double>(parameter_count(model) + multi_token_parameter_count(model));
  size.state = from_si<Bytes>(count * bytes.all());
  const double holders = gradient_ranks(layout);
  const double expert_holders = expert_data_ranks(layout);
  const double shards = layout.zero_stage >= 1 ? shard_ranks(layout) : 1.0;
  const double expert_shards = layout.zero_stage >= 1 ? expert_holders : 1.0;
  const double ranks_of_stage = static_cast<double>(layout.ranks()) / layout.pipeline;
  for (const StageElements& stage : stage_elements(model, layout)) {
    const double whole =
        layout.zero_stage < 3 ? stage.dense + stage.expert : stage.dense / shards + stage.expert / expert_shards;
    const double reduced =
        layout.zero_stage < 2 ? stage.dense + stage.expert : stage.dense / shards + stage.expert / expert_shards;
    const double weights = bytes.parameter * whole;
    const double moments = bytes.optimizer * (stage.dense / shards + stage.expert / expert_shards);
    const double mirrored = layout.schedule == ScheduleKind::kDualPipe ? 2.0 : 1.0;  // every layer is on two stages
    const double saved = bytes.all() * (stage.dense / holders + stage.expert / expert_holders) / mirrored;
    const double held = weights + moments;
    if (held > size.largest_held.si()) {
      size.largest_held = from_si<Bytes>(held);
      size.weights = from_si<Bytes>(weights);
      size.optimizer = from_si<Bytes>(moments);
      size.gradients = from_si<Bytes>(stored_bytes(layout.gradient_type) * reduced);
    }
    size.largest_saved = max(size.largest_saved, from_si<Bytes>(saved));
    size.held += from_si<Bytes>(held * ranks_of_stage);
  }
  return size;
}

CheckpointTimes checkpoint_times(const CheckpointSize& size, const FaultDomains& domains,
                                 const PublishedStorage& storage, const FrontEnd& front_end,
                                 const Accelerator* accelerator, BytesPerSecond network) {
  const bool known_link = accelerator != nullptr && accelerator->host_link_bandwidth.has_value();
  const Published<double>& share = storage.host_link_share;
  const auto copy = [&](Bytes bytes) -> Ranged<Seconds> {
    const BytesPerSecond link = known_link ? accelerator->host_link_bandwidth->value : storage.host_link.value;
    return {bytes / (link * share.value), bytes / (link * share.high), bytes / (link * share.low)};
  };
  const double per_node = domains.gpus_per_node();
  const double saved_of_node = per_node * size.largest_saved.si();
  const double nodes = static_cast<double>(domains.nodes());
  const auto through_node = [&](double bytes) {
    return front_end.node.si() > 0.0 ? exact(bytes, front_end.node.si()) : over(bytes, storage.node, 0.0);
  };
  CheckpointTimes times;
  const Ranged<Seconds> plan{storage.blocking.value, storage.blocking.low, storage.blocking.high};
  times.blocking = sum(plan, copy(size.largest_saved));
  times.write = slower(over(size.state.si(), storage.write, front_end.storage.si()), through_node(saved_of_node));
  const Ranged<Seconds> passed_on = exact(domains.nodes() > 1 ? size.largest_held.si() : 0.0, network.si());
  times.load_storage = sum(
      sum(slower(over(size.state.si(), storage.read, front_end.storage.si()), through_node(saved_of_node)), passed_on),
      copy(size.largest_held));
  times.load_storage_everyone =
      sum(slower(over(size.held.si(), storage.read, front_end.storage.si()), through_node(size.held.si() / nodes)),
          copy(size.largest_held));
  times.load_memory = sum(passed_on, copy(size.largest_held));
  return times;
}

StateCopies::StateCopies(const ModelSpec& model, const Layout& layout, const FaultDomains& domains)
    : domains_(domains) {
  check(layout.ranks() == domains.ranks(), "domains are of the layout's ranks");
  const Mesh mesh(layout);
  const int shards = layout.zero_stage >= 1 ? shard_ranks(layout) : 1;
  const int expert_shards = layout.zero_stage >= 1 ? expert_data_ranks(layout) : 1;
  const bool experts = model.experts.has_value();
  copies_ = gradient_ranks(layout) / shards;
  if (experts) {
    copies_ = std::min(copies_, expert_data_ranks(layout) / expert_shards);
  }
  const std::int64_t dense = std::int64_t{layout.pipeline} * layout.tensor * shards;
  const std::int64_t expert =
      experts ? std::int64_t{layout.pipeline} * layout.expert * layout.expert_tensor * expert_shards : 0;
  holders_.resize(static_cast<std::size_t>(dense + expert));
  shards_.resize(static_cast<std::size_t>(domains.nodes()));
  const auto hold = [&](std::int64_t shard, std::int32_t node) {
    holders_[static_cast<std::size_t>(shard)].push_back(node);
    shards_[static_cast<std::size_t>(node)].push_back(static_cast<std::int32_t>(shard));
  };
  for (std::int64_t rank = 0; rank < layout.ranks(); ++rank) {
    const Coordinates at = mesh.coordinates(Rank(rank));
    const std::int32_t node = domains.node_of(rank);
    const int place = gradient_index(layout, at) % shards;
    hold((std::int64_t{at.pipeline} * layout.tensor + at.tensor) * shards + place, node);
    if (experts) {
      const std::int64_t slice =
          (std::int64_t{at.pipeline} * layout.expert + at.expert) * layout.expert_tensor + at.expert_tensor;
      hold(dense + slice * expert_shards + at.expert_data % expert_shards, node);
    }
  }
}

bool StateCopies::devices_left(std::span<const std::int32_t> nodes) const {
  const auto lost = [&](std::int32_t node) { return std::ranges::binary_search(nodes, node); };
  return std::ranges::all_of(nodes, [&](std::int32_t node) {
    return std::ranges::all_of(shards_[static_cast<std::size_t>(node)], [&](std::int32_t shard) {
      return !std::ranges::all_of(holders_[static_cast<std::size_t>(shard)], lost);
    });
  });
}

bool StateCopies::peers_left(std::span<const std::int32_t> nodes) const {
  const auto count = static_cast<std::int32_t>(domains_.nodes());
  return count > 1 && std::ranges::none_of(nodes, [&](std::int32_t node) {
           return std::ranges::binary_search(nodes, (node + count / 2) % count);
         });
}

template <class Left>
double StateCopies::share_of(FaultDomain domain, const Left& left) const {
  const std::int64_t count = domains_.groups(domain);
  std::int64_t good = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    good += left(domains_.group(domain, i)) ? 1 : 0;
  }
  return static_cast<double>(good) / static_cast<double>(count);
}

double StateCopies::devices_left(FaultDomain domain) const {
  return share_of(domain, [&](std::span<const std::int32_t> nodes) { return devices_left(nodes); });
}

double StateCopies::peers_left(FaultDomain domain) const {
  return share_of(domain, [&](std::span<const std::int32_t> nodes) { return peers_left(nodes); });
}

}  // namespace trainyard::simulator
