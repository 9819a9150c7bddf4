#include "simulator/throughput/update_time.h"

#include <algorithm>
#include <cmath>

#include "simulator/throughput/offload_time.h"
#include "simulator/throughput/rank_parameters.h"

namespace trainyard::simulator {

namespace {

GroupShape of_experts(const LayoutGroups& shapes) { return shapes.expert_data; }

double bytes_of(DataType type) { return static_cast<double>(size_of(type)); }

}  // namespace

Seconds left_behind(Seconds spent, Seconds window, double overlap, double bytes, ByteCount bucket) {
  const Seconds last = spent * std::min(1.0, static_cast<double>(bucket.value()) / std::max(bytes, 1.0));
  return max(last, spent - overlap * min(spent, window));
}

Seconds UpdatePricer::collective(CollectiveOp op, double bytes, const GroupShape& group) const {
  return group.size() <= 1 || bytes <= 0.0 ? Seconds()
                                           : rates_.communication * groups_.time(op, from_si<Bytes>(bytes), group).time;
}

// Layers that share a bucket share its latencies.
Seconds UpdatePricer::in_buckets(CollectiveOp op, double bytes, const GroupShape& group) const {
  const double bucket = static_cast<double>(layout_.bucket_bytes.value());
  const double layers = layout_.zero_stage == 3 ? 1.0 : std::max(1.0, std::ceil(bucket / std::max(bytes, 1.0)));
  return collective(op, layers * bytes, group) / layers;
}

DataTime UpdatePricer::data(const RankParameters& parameters) const {
  const double gradient = bytes_of(layout_.gradient_type);
  const bool sharded = layout_.zero_stage > 0;
  const bool hybrid = sharded && layout_.shard_group.has_value();
  const CollectiveOp reduction = sharded ? CollectiveOp::kReduceScatter : CollectiveOp::kAllReduce;
  DataTime time;
  time.reduce = in_buckets(reduction, gradient * parameters.dense, hybrid ? shapes_.shard : shapes_.data) +
                in_buckets(reduction, gradient * parameters.experts, of_experts(shapes_));
  if (hybrid) {
    const double share = parameters.dense / static_cast<double>(shapes_.shard.size());
    time.replicate = in_buckets(CollectiveOp::kAllReduce, gradient * share, shapes_.replica);
  }
  if (layout_.zero_stage == 3) {
    const double parameter = bytes_of(layout_.parameter_type == DataType::kFp32 ? DataType::kFp32 : DataType::kBf16);
    const double wire = std::min(parameter, std::max(1.0, bytes_of(layout_.communication_type)));
    time.gather = in_buckets(CollectiveOp::kAllGather, wire * parameters.dense, shapes_.shard) +
                  in_buckets(CollectiveOp::kAllGather, wire * parameters.experts, of_experts(shapes_));
  }
  return time;
}

DataTimes UpdatePricer::data(const ModelSpec& model) const {
  DataTimes times;
  times.layer[0] = data(rank_parameters(model, layout_, 1, 0, false, false));
  if (model.experts) {
    times.layer[1] = data(rank_parameters(model, layout_, 0, 1, false, false));
  }
  times.table = data(rank_parameters(model, layout_, 0, 0, true, false));
  if (model.multi_token_layers > 0) {
    times.merge = data(RankParameters{merge_parameters(model, layout_), 0.0});
  }
  return times;
}

// A rank and the one at the pipeline's other end that holds the same two stages.
GroupShape UpdatePricer::mirrors() const {
  GroupShape shape = shapes_.pipeline;
  shape.count = {2, 1};
  shape.stride[0] *= layout_.pipeline - 1;
  shape.per_node = shape.per_node >= layout_.pipeline ? 2 : 1;
  return shape;
}

Seconds UpdatePricer::offloaded_update(double owned, double all, Seconds forward) const {
  const double gradient = bytes_of(layout_.gradient_type) * owned;
  const double bucket = static_cast<double>(layout_.bucket_bytes.value());
  const double share = std::min(1.0, bucket / std::max(bytes_of(layout_.parameter_type) * all, 1.0));
  // Gradients that are reduced bucket by bucket have the last backward, about two forwards, to go down beside.
  const bool early = layout_.overlap_gradient_reduce || layout_.zero_stage >= 2;
  const Seconds down = left_behind(from_si<Bytes>(gradient) / rates_.host_link, early ? 2.0 * forward : Seconds(), 1.0,
                                   bytes_of(layout_.parameter_type) * all, layout_.bucket_bytes);
  const Seconds up = from_si<Bytes>(bytes_of(layout_.parameter_type) * owned) / rates_.host_link;
  const Seconds host = host_update_time(owned);
  return max(max(host, up) + share * min(host, up), down + up + share * host);
}

UpdateTime UpdatePricer::step(const RankParameters& parameters, double table, Seconds forward) const {
  const double gradient = bytes_of(layout_.gradient_type);
  const double parameter = bytes_of(layout_.parameter_type == DataType::kFp32 ? DataType::kFp32 : DataType::kBf16);
  const double all = parameters.dense + parameters.experts;
  UpdateTime time;
  double owned = all;
  if (layout_.zero_stage >= 1) {
    owned = parameters.dense / static_cast<double>(std::max<std::int64_t>(1, shapes_.shard.size())) +
            parameters.experts / static_cast<double>(std::max<std::int64_t>(1, shapes_.expert_data.size()));
  }
  if (layout_.schedule == ScheduleKind::kDualPipe && layout_.pipeline > 1) {
    // Between the two halves of the data-parallel reduction, when each rank holds its share of the sum.
    const double share =
        parameters.dense / static_cast<double>(std::max<std::int64_t>(1, shapes_.data.size())) +
        parameters.experts / static_cast<double>(std::max<std::int64_t>(1, shapes_.expert_data.size()));
    time.mirror = collective(CollectiveOp::kAllReduce, gradient * share, mirrors());
  }
  if (table > 0.0) {
    const double shards = static_cast<double>(std::max<std::int64_t>(1, shapes_.shard.size()));
    const double share = layout_.zero_stage >= 1 ? table / shards : table;
    time.mirror += collective(CollectiveOp::kAllReduce, gradient * share, mirrors());
  }
  if (layout_.zero_stage == 1 || layout_.zero_stage == 2) {
    const Seconds spent = collective(CollectiveOp::kAllGather, parameter * parameters.dense, shapes_.shard) +
                          collective(CollectiveOp::kAllGather, parameter * parameters.experts, of_experts(shapes_));
    time.parameter = layout_.overlap_parameter_gather
                         ? left_behind(spent, forward, rates_.overlap, parameter * all, layout_.bucket_bytes)
                         : spent;
  }
  const double held = layout_.zero_stage >= 1 ? owned : all;  // once reduced
  time.optimizer = from_si<Bytes>(kUpdateBytes * owned + kNormBytes * held) / rates_.memory;
  if (layout_.offload.optimizer) {
    time.offload = offloaded_update(owned, all, forward);
    time.parameter = left_behind(time.parameter, time.offload, 1.0, parameter * all, layout_.bucket_bytes);
    time.optimizer = from_si<Bytes>(kNormBytes * held) / rates_.memory;
  }
  return time;
}

}  // namespace trainyard::simulator
