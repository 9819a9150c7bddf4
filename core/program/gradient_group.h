// Which ranks share out and reduce a bucket's gradients and optimizer state.
//
//   dense     dp x cp ranks: all who see other tokens with the same parameters
//   sharded   groups of `shard_group` of them, in rank order; between groups, replicas (hybrid sharding)
//   experts   the expert-data axis: dp x cp x tp / (ep x etp)
#pragma once

#include <vector>

#include "core/layout/mesh.h"
#include "core/program/bucket.h"
#include "core/program/program.h"

namespace trainyard {

// Members of the group that shards a dense bucket, of its replicas, of what shards experts.
int gradient_ranks(const Layout& layout);  // dp x cp
int shard_ranks(const Layout& layout);
int replica_ranks(const Layout& layout);
int expert_data_ranks(const Layout& layout);

int shard_ranks(const Layout& layout, const Bucket& bucket);
GroupKind shard_group_kind(const Layout& layout, const Bucket& bucket);

// A rank's place among the dp x cp ranks, by rank.
int gradient_index(const Layout& layout, const Coordinates& at);
std::vector<Rank> gradient_group(const Mesh& mesh, Rank rank);

}  // namespace trainyard
