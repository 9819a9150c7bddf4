#include "core/layout/mesh.h"

#include <algorithm>
#include <limits>

#include "core/error.h"

namespace trainyard {

namespace {

constexpr std::string_view kWhereDegrees = "layout";
constexpr std::string_view kWhereOrder = "layout.rank_order";

std::vector<std::string> split(const std::string& order) {
  std::vector<std::string> names(1);
  for (const char letter : order) {
    if (letter == '-') {
      names.emplace_back();
    } else {
      names.back() += letter;
    }
  }
  return names;
}

std::vector<std::string> parse_order(const std::string& order) {
  const std::vector<std::string> names = split(order);
  std::vector<std::string> sorted = names;
  std::sort(sorted.begin(), sorted.end());
  if (sorted != std::vector<std::string>{"cp", "dp", "ep", "pp", "tp"}) {
    throw Error("rank order '" + order + "' does not name each of tp, cp, ep, dp, pp once", std::string(kWhereOrder),
                "for example tp-cp-ep-dp-pp, innermost first");
  }
  return names;
}

void require_degree(std::string_view name, int degree) {
  if (degree < 1) {
    throw Error(std::string(name) + " is " + std::to_string(degree), std::string(kWhereDegrees),
                "a parallel degree is at least 1");
  }
}

void require_degrees(const Layout& layout) {
  require_degree("tp", layout.tensor);
  require_degree("cp", layout.context);
  require_degree("dp", layout.data);
  require_degree("pp", layout.pipeline);
  require_degree("ep", layout.expert);
  require_degree("etp", layout.expert_tensor);
}

// Product of the dense degrees; a Rank has 31 bits.
std::int64_t checked_ranks(const Layout& layout) {
  std::int64_t ranks = 1;
  for (const int degree : {layout.tensor, layout.context, layout.data, layout.pipeline}) {
    ranks *= degree;
    if (ranks > std::numeric_limits<std::int32_t>::max()) {
      throw Error("tp * cp * dp * pp is more than 2^31 - 1 ranks", std::string(kWhereDegrees), "use smaller degrees");
    }
  }
  return ranks;
}

int expert_data_size(const Layout& layout, std::int64_t ranks) {
  const std::int64_t stage = ranks / layout.pipeline;
  const std::int64_t experts = std::int64_t{layout.expert_tensor} * layout.expert;
  if (stage % experts != 0) {
    throw Error("etp * ep = " + std::to_string(experts) + " does not divide the " + std::to_string(stage) +
                    " ranks of a pipeline stage (tp * cp * dp)",
                std::string(kWhereDegrees), "choose ep and etp so that their product divides tp * cp * dp");
  }
  return static_cast<int>(stage / experts);
}

}  // namespace

std::string_view to_string(Axis axis) {
  switch (axis) {
    case Axis::kTensor:
      return "tp";
    case Axis::kContext:
      return "cp";
    case Axis::kData:
      return "dp";
    case Axis::kPipeline:
      return "pp";
    case Axis::kExpert:
      return "ep";
    case Axis::kExpertTensor:
      return "etp";
    case Axis::kExpertData:
      return "edp";
  }
  return "?";
}

int Coordinates::along(Axis axis) const {
  switch (axis) {
    case Axis::kTensor:
      return tensor;
    case Axis::kContext:
      return context;
    case Axis::kData:
      return data;
    case Axis::kPipeline:
      return pipeline;
    case Axis::kExpert:
      return expert;
    case Axis::kExpertTensor:
      return expert_tensor;
    case Axis::kExpertData:
      return expert_data;
  }
  return 0;
}

Mesh::Mesh() : Mesh(Layout{}) {}

Mesh::Mesh(const Layout& layout) {
  require_degrees(layout);
  const std::vector<std::string> order = parse_order(layout.rank_order);
  ranks_ = checked_ranks(layout);
  const int expert_data = expert_data_size(layout, ranks_);

  std::int64_t dense_stride = 1;
  std::int64_t expert_stride = 1;
  const auto add = [](std::vector<Factor>& factors, std::int64_t& stride, Axis axis, int size) {
    factors.push_back(Factor{axis, size, stride});
    stride *= size;
  };
  for (const std::string& name : order) {
    if (name == "tp") {
      add(dense_, dense_stride, Axis::kTensor, layout.tensor);
      add(expert_, expert_stride, Axis::kExpertTensor, layout.expert_tensor);
    } else if (name == "cp") {
      add(dense_, dense_stride, Axis::kContext, layout.context);
    } else if (name == "ep") {
      add(expert_, expert_stride, Axis::kExpert, layout.expert);
    } else if (name == "dp") {
      add(dense_, dense_stride, Axis::kData, layout.data);
      add(expert_, expert_stride, Axis::kExpertData, expert_data);
    } else {
      add(dense_, dense_stride, Axis::kPipeline, layout.pipeline);
      add(expert_, expert_stride, Axis::kPipeline, layout.pipeline);
    }
  }
  require_same_stages(layout);
}

// A rank's experts must live on the stage that its dense layers live on.
void Mesh::require_same_stages(const Layout& layout) const {
  if (layout.pipeline == 1 || (layout.expert == 1 && layout.expert_tensor == 1)) {
    return;
  }
  const auto is_pipeline = [](const Factor& factor) { return factor.axis == Axis::kPipeline; };
  const auto dense = std::find_if(dense_.begin(), dense_.end(), is_pipeline);
  const auto expert = std::find_if(expert_.begin(), expert_.end(), is_pipeline);
  if (dense->stride != expert->stride) {
    throw Error("with rank order '" + layout.rank_order +
                    "' the dense and the expert factorisation put ranks on different pipeline stages",
                std::string(kWhereOrder), "put pp last or first, for example tp-cp-ep-dp-pp");
  }
}

const Mesh::Factor& Mesh::factor(Axis axis) const {
  for (const std::vector<Factor>* factors : {&dense_, &expert_}) {
    for (const Factor& factor : *factors) {
      if (factor.axis == axis) {
        return factor;
      }
    }
  }
  check(false, "a mesh has every axis");
  return dense_.front();
}

int Mesh::size(Axis axis) const { return factor(axis).size; }

Coordinates Mesh::coordinates(Rank rank) const {
  check(rank.value() >= 0 && rank.value() < ranks_, "rank outside the mesh");
  const auto along = [&](Axis axis) {
    const Factor& f = factor(axis);
    return static_cast<int>(rank.value() / f.stride % f.size);
  };
  Coordinates at;
  at.tensor = along(Axis::kTensor);
  at.context = along(Axis::kContext);
  at.data = along(Axis::kData);
  at.pipeline = along(Axis::kPipeline);
  at.expert = along(Axis::kExpert);
  at.expert_tensor = along(Axis::kExpertTensor);
  at.expert_data = along(Axis::kExpertData);
  return at;
}

Rank Mesh::rank_at(const Coordinates& coordinates) const {
  std::int64_t rank = 0;
  for (const Factor& factor : dense_) {
    const int index = coordinates.along(factor.axis);
    check(index >= 0 && index < factor.size, "coordinate outside the mesh");
    rank += index * factor.stride;
  }
  return Rank(rank);
}

std::vector<Rank> Mesh::group(Axis axis, Rank rank) const {
  check(rank.value() >= 0 && rank.value() < ranks_, "rank outside the mesh");
  const Factor& f = factor(axis);
  const std::int64_t first = rank.value() - rank.value() / f.stride % f.size * f.stride;
  std::vector<Rank> members;
  members.reserve(static_cast<std::size_t>(f.size));
  for (int i = 0; i < f.size; ++i) {
    members.emplace_back(first + i * f.stride);
  }
  return members;
}

std::vector<std::vector<Rank>> Mesh::groups(Axis axis) const {
  const Factor& f = factor(axis);
  std::vector<std::vector<Rank>> result;
  result.reserve(static_cast<std::size_t>(ranks_ / f.size));
  for (std::int64_t rank = 0; rank < ranks_; ++rank) {
    if (rank / f.stride % f.size == 0) {
      result.push_back(group(axis, Rank(rank)));
    }
  }
  return result;
}

}  // namespace trainyard
