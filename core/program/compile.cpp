#include <algorithm>
#include <map>
#include <utility>

#include "core/error.h"
#include "core/program/arena.h"
#include "core/program/program.h"
#include "core/program/program_hash.h"
#include "core/program/stage_generator.h"
#include "core/program/wire.h"

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
    append_chunks(signature, bucket.boundaries, index);
  }
  return signature;
}

void require_expressible(const Plan& plan) {
  const Layout& layout = plan.layout;
  const auto refuse = [](const std::string& what, const std::string& where, const std::string& hint) {
    throw Error(what, where, hint);
  };
  if (const auto beyond = beyond_llama_block(plan.model)) {
    refuse("a program has no " + *beyond + " yet", "/model", "use a model of the Llama family");
  }
  if (layout.context > 1 || layout.expert > 1 || layout.expert_tensor > 1) {
    refuse("context and expert parallelism can't be expressed in a program yet", "/layout", "use degree 1");
  }
  if (layout.zero_stage > 1) {
    refuse("ZeRO stages 2 and 3 can't be expressed in a program yet", "/layout/zero_stage", "use 0 or 1");
  }
  if (layout.recompute == Recompute::kSelective || layout.recompute_every > 1) {
    refuse("selective recomputation, and of some layers only, can't be expressed in a program yet", "/layout/recompute",
           "use none or full, with recompute_every 1");
  }
  if (layout.offload != Offload{}) {
    refuse("offloading can't be expressed in a program yet", "/layout", "keep everything on the device");
  }
  if (!layout.chunk_layers.empty()) {
    refuse("given layers of each chunk can't be expressed in a program yet", "/layout/chunk_layers", "leave it empty");
  }
  if (plan.model.tied_embeddings && layout.pipeline > 1) {
    refuse("tied embeddings across pipeline stages can't be expressed in a program yet", "/layout/pipeline",
           "use pipeline 1, or a model with untied embeddings");
  }
  if (layout.pipeline * layout.chunks_per_stage > plan.model.layers) {
    refuse("more pipeline chunks than layers", "/layout/pipeline",
           "the model has " + std::to_string(plan.model.layers) + " layers");
  }
}

std::vector<Group> make_groups(const Layout& layout) {
  const std::vector<std::pair<GroupKind, std::int64_t>> sizes{
      {GroupKind::kTensor, layout.tensor},     {GroupKind::kData, layout.data},
      {GroupKind::kPipeline, layout.pipeline}, {GroupKind::kContext, layout.context},
      {GroupKind::kExpert, layout.expert},     {GroupKind::kEmbedding, 1},
      {GroupKind::kWorld, layout.ranks()}};
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
      data_classes_.assign(tensor_class_.size(), std::vector<int>(static_cast<std::size_t>(plan.layout.data), 0));
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
    for (int index = 0; index < plan_.layout.data; ++index) {
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

Program compile(const Plan& plan, ProgramKind kind, RoleDetail detail) {
  validate(plan, "plan");
  require_expressible(plan);
  Program program;
  program.kind = kind;
  program.mesh = Mesh(plan.layout);
  program.groups = make_groups(plan.layout);
  SegmentTable table;
  std::vector<StageRoles> stages;
  for (int stage = 0; stage < plan.layout.pipeline; ++stage) {
    stages.emplace_back(plan, kind, detail, stage, table, program.roles);
  }
  for (std::int64_t r = 0; r < program.mesh.ranks(); ++r) {
    const Coordinates at = program.mesh.coordinates(Rank(r));
    const RoleId id = stages[static_cast<std::size_t>(at.pipeline)].role(at.tensor, at.data);
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

std::vector<Rank> group_members(const Program& program, const Group& group, Rank rank) {
  switch (group.kind) {
    case GroupKind::kTensor:
      return program.mesh.group(Axis::kTensor, rank);
    case GroupKind::kData:
      return program.mesh.group(Axis::kData, rank);
    case GroupKind::kPipeline:
      return program.mesh.group(Axis::kPipeline, rank);
    case GroupKind::kContext:
      return program.mesh.group(Axis::kContext, rank);
    case GroupKind::kExpert:
      return program.mesh.group(Axis::kExpert, rank);
    case GroupKind::kEmbedding:
      return {rank};
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
