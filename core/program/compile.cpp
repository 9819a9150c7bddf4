#include <algorithm>
#include <map>
#include <utility>

#include "core/error.h"
#include "core/program/arena.h"
#include "core/program/gradient_group.h"
#include "core/program/program.h"
#include "core/program/program_hash.h"
#include "core/program/stage_generator.h"
#include "core/program/wire.h"
#include "core/schedule/schedule.h"

namespace trainyard {

namespace {

// Everything about a rank's place in its stage that can change an instruction: sizes of its tensor slices
// and of its chunks and its ring neighbour's. Ranks with equal signatures share a role.
using Signature = std::vector<std::int64_t>;

void append_chunks(Signature& signature, const std::vector<std::int64_t>& boundaries, int index) {
  const auto n = static_cast<int>(boundaries.size()) - 1;
  for (int member : {index, (index + 1) % n}) {
    const auto i = static_cast<std::size_t>(member);
    signature.push_back(boundaries[i + 1] - boundaries[i]);
  }
}

Signature tensor_signature(const Plan& plan, int index) {
  const LocalShape local = local_shape(plan.model, plan.layout.tensor, index);
  Signature signature{local.heads, local.key_value_heads, local.feed_forward, local.vocabulary.size()};
  const std::int64_t elements = plan.layout.micro_batch * plan.training.sequence * plan.model.hidden;
  append_chunks(signature, even_boundaries(elements, plan.layout.tensor), index);
  return signature;
}

Signature data_signature(const std::vector<Bucket>& buckets, int index) {
  Signature signature;
  for (const Bucket& bucket : buckets) {
    append_chunks(signature, bucket.boundaries, index % (static_cast<int>(bucket.boundaries.size()) - 1));
  }
  return signature;
}

void require_expressible(const Plan& plan) {
  const Layout& layout = plan.layout;
  const ModelSpec& model = plan.model;
  const auto refuse = [](const std::string& what, const std::string& where, const std::string& hint) {
    throw Error(what, where, hint);
  };
  if (model.parallel_branches && model.experts) {
    refuse("a program has no attention beside a mixture of experts", "/model", "use a model with one after the other");
  }
  for (const auto& [offloaded, what] :
       {std::pair(layout.offload.activations, "activations"), std::pair(layout.offload.parameters, "parameters")}) {
    if (offloaded) {
      refuse(std::string("a program can't keep ") + what + " in host memory", std::string("/layout/offload_") + what,
             "keep them on the device; optimizer state may lie in host memory");
    }
  }
  if ((layout.expert > 1 || layout.expert_tensor > 1) && !model.experts) {
    refuse("a model without experts has none to spread", "/layout/expert", "use degree 1");
  }
  const int chunks = model_chunks(layout.schedule, layout.pipeline, layout.chunks_per_stage);
  if (layout.chunk_layers.empty() ? chunks > model.layers
                                  : layout.chunk_layers.size() != static_cast<std::size_t>(chunks)) {
    refuse(std::to_string(chunks) + " pipeline chunks don't match the layers", "/layout/pipeline",
           "the model has " + std::to_string(model.layers) + " layers; chunk_layers names each chunk's");
  }
}

// Pairs of ranks that hold the same tensors at two stages: the ends of a table used twice, DualPipe's mirrors.
bool pairs_stages(const Plan& plan) {
  const Layout& layout = plan.layout;
  const bool used_twice = plan.model.tied_embeddings || plan.model.multi_token_layers > 0;
  const bool one_stage_has_both = layout.schedule == ScheduleKind::kZeroBubbleV;
  return layout.pipeline > 1 && (layout.schedule == ScheduleKind::kDualPipe || (used_twice && !one_stage_has_both));
}

std::vector<Group> make_groups(const Plan& plan) {
  const Layout& layout = plan.layout;
  const bool shards = replica_ranks(layout) > 1;
  const std::vector<std::pair<GroupKind, std::int64_t>> sizes{
      {GroupKind::kTensor, layout.tensor},
      {GroupKind::kData, gradient_ranks(layout)},
      {GroupKind::kPipeline, layout.pipeline},
      {GroupKind::kContext, layout.context},
      {GroupKind::kExpert, layout.expert},
      {GroupKind::kEmbedding, pairs_stages(plan) ? 2 : 1},
      {GroupKind::kWorld, layout.ranks()},
      {GroupKind::kShard, shards ? shard_ranks(layout) : 1},
      {GroupKind::kReplica, replica_ranks(layout)},
      {GroupKind::kExpertTensor, layout.expert_tensor},
      {GroupKind::kExpertData, plan.model.experts ? expert_data_ranks(layout) : 1}};
  std::vector<Group> groups;
  for (const auto& [kind, size] : sizes) {
    groups.push_back({GroupId(static_cast<int>(kind)), kind, static_cast<int>(size)});
  }
  return groups;
}

// Roles of one stage, found by (tensor class, data class) and generated once each.
class StageRoles {
 public:
  StageRoles(const Plan& plan, ProgramKind kind, RoleDetail detail, int stage, SegmentTable& table,
             std::vector<Role>& roles)
      : plan_(plan), kind_(kind), stage_(stage), table_(table), roles_(roles) {
    if (detail == RoleDetail::kByStage) {
      tensor_class_.assign(static_cast<std::size_t>(plan.layout.tensor), 0);
      data_classes_.assign(tensor_class_.size(),
                           std::vector<int>(static_cast<std::size_t>(gradient_ranks(plan.layout)), 0));
      return;
    }
    const auto chunks = stage_chunks(plan.model, plan.layout, stage);
    for (int index = 0; index < plan.layout.tensor; ++index) {
      const Signature signature = tensor_signature(plan, index);
      if (const auto known = by_tensor_signature_.find(signature); known != by_tensor_signature_.end()) {
        data_classes_.push_back(data_classes_[static_cast<std::size_t>(known->second)]);
        tensor_class_.push_back(known->second);
        continue;
      }
      by_tensor_signature_.emplace(signature, index);
      tensor_class_.push_back(index);
      data_classes_.push_back(classes_of(stage_buckets(plan.model, plan.layout, chunks, index)));
    }
  }

  RoleId role(int tensor_index, int data_index) {
    const int tensor_class = tensor_class_[static_cast<std::size_t>(tensor_index)];
    const int data_class = data_classes_[static_cast<std::size_t>(tensor_index)][static_cast<std::size_t>(data_index)];
    const auto [found, added] = by_class_.try_emplace({tensor_class, data_class});
    if (added) {
      Role made = generate_role(plan_, kind_, {stage_, tensor_class, data_class}, table_);
      made.id = RoleId(static_cast<std::int64_t>(roles_.size()));
      place_buffers(made);
      roles_.push_back(std::move(made));
      found->second = roles_.back().id;
    }
    return found->second;
  }

 private:
  // For each data index, the lowest data index with the same signature.
  std::vector<int> classes_of(const std::vector<Bucket>& buckets) const {
    std::map<Signature, int> first;
    std::vector<int> classes;
    for (int index = 0; index < gradient_ranks(plan_.layout); ++index) {
      classes.push_back(first.try_emplace(data_signature(buckets, index), index).first->second);
    }
    return classes;
  }

  const Plan& plan_;
  ProgramKind kind_;
  int stage_;
  SegmentTable& table_;
  std::vector<Role>& roles_;
  std::map<Signature, int> by_tensor_signature_;
  std::vector<int> tensor_class_;
  std::vector<std::vector<int>> data_classes_;
  std::map<std::pair<int, int>, RoleId> by_class_;
};

}  // namespace

Program program_frame(const Plan& plan) {
  validate(plan, "plan");
  require_expressible(plan);
  Program program;
  program.mesh = Mesh(plan.layout);
  program.groups = make_groups(plan);
  return program;
}

Program compile(const Plan& plan, ProgramKind kind, RoleDetail detail) {
  if (plan.model.experts) {
    detail = RoleDetail::kByStage;  // experts' shares follow another mesh than the dense ones
  }
  Program program = program_frame(plan);
  program.kind = kind;
  SegmentTable table;
  std::vector<StageRoles> stages;
  for (int stage = 0; stage < plan.layout.pipeline; ++stage) {
    stages.emplace_back(plan, kind, detail, stage, table, program.roles);
  }
  for (std::int64_t r = 0; r < program.mesh.ranks(); ++r) {
    const Coordinates at = program.mesh.coordinates(Rank(r));
    const RoleId id = stages[static_cast<std::size_t>(at.pipeline)].role(at.tensor, gradient_index(plan.layout, at));
    Role& role = program.roles[id.at()];
    if (role.ranks++ == 0) {
      role.representative = Rank(r);
    }
    program.bindings.push_back({.role = id});
  }
  program.segments = table.take();
  program.hash = program_hash(program);
  return program;
}

namespace {

// Members of the group of dp x cp ranks that shard together, or that hold the same shard.
std::vector<Rank> part_of_data(const Program& program, GroupKind kind, Rank rank) {
  const std::vector<Rank> all = gradient_group(program.mesh, rank);
  const auto size = static_cast<std::size_t>(program.groups[static_cast<std::size_t>(GroupKind::kShard)].size);
  const auto own = static_cast<std::size_t>(std::find(all.begin(), all.end(), rank) - all.begin());
  std::vector<Rank> members;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (kind == GroupKind::kShard ? i / size == own / size : i % size == own % size) {
      members.push_back(all[i]);
    }
  }
  return members;
}

// This rank and the one at the mirrored stage; the middle one of an odd number has none.
std::vector<Rank> mirrored_pair(const Program& program, Rank rank) {
  Coordinates at = program.mesh.coordinates(rank);
  at.pipeline = program.mesh.size(Axis::kPipeline) - 1 - at.pipeline;
  const Rank other = program.mesh.rank_at(at);
  if (other == rank) {
    return {rank};
  }
  return {std::min(rank, other), std::max(rank, other)};
}

}  // namespace

std::vector<Rank> group_members(const Program& program, const Group& group, Rank rank) {
  if (group.size == 1) {
    return {rank};
  }
  switch (group.kind) {
    case GroupKind::kTensor:
      return program.mesh.group(Axis::kTensor, rank);
    case GroupKind::kData:
      return gradient_group(program.mesh, rank);
    case GroupKind::kPipeline:
      return program.mesh.group(Axis::kPipeline, rank);
    case GroupKind::kContext:
      return program.mesh.group(Axis::kContext, rank);
    case GroupKind::kExpert:
      return program.mesh.group(Axis::kExpert, rank);
    case GroupKind::kExpertTensor:
      return program.mesh.group(Axis::kExpertTensor, rank);
    case GroupKind::kExpertData:
      return program.mesh.group(Axis::kExpertData, rank);
    case GroupKind::kShard:
    case GroupKind::kReplica:
      return part_of_data(program, group.kind, rank);
    case GroupKind::kEmbedding:
      return mirrored_pair(program, rank);
    case GroupKind::kWorld:
      break;
  }
  std::vector<Rank> all;
  for (std::int64_t r = 0; r < program.mesh.ranks(); ++r) {
    all.push_back(Rank(r));
  }
  return all;
}

}  // namespace trainyard
