#include "core/program/gradient_group.h"

#include <algorithm>

namespace trainyard {

int gradient_ranks(const Layout& layout) { return layout.data * layout.context; }

int shard_ranks(const Layout& layout) {
  const int all = gradient_ranks(layout);
  return layout.zero_stage >= 1 ? std::min(all, layout.shard_group.value_or(all)) : all;
}

int replica_ranks(const Layout& layout) { return gradient_ranks(layout) / shard_ranks(layout); }

int expert_data_ranks(const Layout& layout) {
  return layout.tensor * gradient_ranks(layout) / (layout.expert * layout.expert_tensor);
}

int shard_ranks(const Layout& layout, const Bucket& bucket) {
  return bucket.experts ? expert_data_ranks(layout) : shard_ranks(layout);
}

GroupKind shard_group_kind(const Layout& layout, const Bucket& bucket) {
  if (bucket.experts) {
    return GroupKind::kExpertData;
  }
  return replica_ranks(layout) > 1 ? GroupKind::kShard : GroupKind::kData;
}

int gradient_index(const Layout& layout, const Coordinates& at) {
  const bool context_inside = layout.rank_order.find("cp") < layout.rank_order.find("dp");
  return context_inside ? at.context + layout.context * at.data : at.data + layout.data * at.context;
}

std::vector<Rank> gradient_group(const Mesh& mesh, Rank rank) {
  std::vector<Rank> members;
  for (const Rank along : mesh.group(Axis::kData, rank)) {
    const std::vector<Rank> across = mesh.group(Axis::kContext, along);
    members.insert(members.end(), across.begin(), across.end());
  }
  std::sort(members.begin(), members.end());
  return members;
}

}  // namespace trainyard
