#include "simulator/throughput/layout_groups.h"

#include <algorithm>
#include <string_view>

namespace trainyard::simulator {

namespace {

GroupShape shape(std::int64_t count, std::int64_t stride, std::int64_t ranks_per_node) {
  GroupShape group;
  group.count = {count, 1};
  group.stride = {stride, count * stride};
  group.per_node = std::clamp<std::int64_t>(ranks_per_node / stride, 1, count);
  group.concurrent = std::max<std::int64_t>(1, ranks_per_node / group.per_node);
  return group;
}

// Product of the degrees of the names before `name` in the order.
template <class Degree>
std::int64_t stride_of(std::string_view order, std::string_view name, const Degree& degree) {
  std::int64_t stride = 1;
  while (!order.empty()) {
    const std::size_t end = std::min(order.find('-'), order.size());
    const std::string_view word = order.substr(0, end);
    if (word == name) {
      return stride;
    }
    stride *= degree(word);
    order.remove_prefix(std::min(order.size(), end + 1));
  }
  return stride;
}

// Several axes next to each other make one group of the least stride; apart, the stride still says how far members are.
GroupShape joined(std::int64_t count_a, std::int64_t stride_a, std::int64_t count_b, std::int64_t stride_b,
                  std::int64_t ranks_per_node) {
  const auto members = [&](std::int64_t count, std::int64_t stride) {
    return std::clamp<std::int64_t>(ranks_per_node / stride, 1, count);
  };
  GroupShape group;
  group.count = {count_a, count_b};
  group.stride = {stride_a, stride_b};
  group.per_node = members(count_a, stride_a) * (count_b > 1 ? members(count_b, stride_b) : 1);
  group.concurrent = std::max<std::int64_t>(1, ranks_per_node / group.per_node);
  return group;
}

}  // namespace

LayoutGroups layout_groups(const Layout& layout, const Fabric& fabric) {
  const std::int64_t node = std::max<std::int64_t>(1, std::min(fabric.ranks_per_node.value, layout.ranks()));
  const std::int64_t tp = layout.tensor;
  const std::int64_t cp = layout.context;
  const std::int64_t dp = layout.data;
  const std::int64_t pp = layout.pipeline;
  const auto dense = [&](std::string_view name) -> std::int64_t {
    return name == "tp" ? tp : name == "cp" ? cp : name == "dp" ? dp : name == "pp" ? pp : 1;
  };
  const std::int64_t ep = layout.expert;
  const std::int64_t etp = layout.expert_tensor;
  const std::int64_t edp = std::max<std::int64_t>(1, tp * cp * dp / (ep * etp));
  const auto sparse = [&](std::string_view name) -> std::int64_t {
    return name == "tp" ? etp : name == "ep" ? ep : name == "dp" ? edp : name == "pp" ? pp : 1;
  };
  const std::string_view order = layout.rank_order;
  LayoutGroups groups;
  groups.tensor = shape(tp, stride_of(order, "tp", dense), node);
  groups.context = shape(cp, stride_of(order, "cp", dense), node);
  groups.data = joined(cp, stride_of(order, "cp", dense), dp, stride_of(order, "dp", dense), node);
  groups.shard = groups.data;
  if (layout.shard_group && *layout.shard_group < dp * cp) {
    const std::int64_t stride = std::min(groups.data.stride[0], groups.data.stride[1]);
    groups.shard = shape(*layout.shard_group, stride, node);
    groups.replica = shape(dp * cp / *layout.shard_group, stride * *layout.shard_group, node);
  }
  groups.expert = shape(ep, stride_of(order, "ep", sparse), node);
  groups.expert_data = shape(edp, stride_of(order, "dp", sparse), node);
  groups.pipeline = shape(pp, stride_of(order, "pp", dense), node);
  return groups;
}

}  // namespace trainyard::simulator
