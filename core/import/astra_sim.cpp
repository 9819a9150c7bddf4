#include "core/import/astra_sim.h"

#include <vector>

#include "core/error.h"
#include "core/import/bus_rates.h"
#include "core/import/limits.h"
#include "core/import/text_lines.h"
#include "core/import/yaml_document.h"

namespace trainyard {

namespace {

enum class Shape { kRing, kSwitch, kFullyConnected };

struct DimensionOfNetwork {
  Shape shape = Shape::kRing;
  std::size_t count = 0;
  BytesPerSecond bandwidth;
  Seconds latency;
};

class NetworkReader {
 public:
  NetworkReader(std::string_view text, const std::string& where) : where_(where), root_(parse_yaml(text, where)) {}

  std::vector<DimensionOfNetwork> read() {
    if (root_.kind != YamlValue::Kind::kMap) {
      fail(root_, "expected topology, npus_count, bandwidth and latency");
    }
    for (std::size_t i = 0; i < root_.keys.size(); ++i) {
      const std::string& key = root_.keys[i];
      if (key != "topology" && key != "npus_count" && key != "bandwidth" && key != "latency") {
        fail(root_.items[i], "key " + quote(key) + " is not known",
             "the file has topology, npus_count, bandwidth and latency");
      }
    }
    const YamlValue& shapes = list("topology");
    const YamlValue& counts = list("npus_count");
    const YamlValue& bandwidths = list("bandwidth");
    const YamlValue& latencies = list("latency");
    std::vector<DimensionOfNetwork> dimensions;
    for (std::size_t i = 0; i < shapes.items.size(); ++i) {
      if (i >= counts.items.size() || i >= bandwidths.items.size() || i >= latencies.items.size()) {
        fail(shapes, "npus_count, bandwidth and latency need a value for each dimension of topology");
      }
      dimensions.push_back({.shape = shape(shapes.items[i]),
                            .count = count(counts.items[i]),
                            .bandwidth = from_si<BytesPerSecond>(1e9 * number(bandwidths.items[i], 1e-6, 1e9)),
                            .latency = from_si<Seconds>(1e-9 * number(latencies.items[i], 0.0, 1e12))});
    }
    if (dimensions.empty()) {
      fail(shapes, "no dimension");
    }
    return dimensions;
  }

 private:
  [[noreturn]] void fail(const YamlValue& value, const std::string& what, const std::string& hint = {}) const {
    throw Error(what, at_line(where_, value.line), hint);
  }

  const YamlValue& list(const char* key) const {
    const YamlValue* found = root_.find(key);
    if (found == nullptr || found->kind != YamlValue::Kind::kSequence) {
      fail(found == nullptr ? root_ : *found, std::string(key) + " is to be a list, one value a dimension");
    }
    return *found;
  }

  Shape shape(const YamlValue& value) const {
    if (value.text == "Ring") {
      return Shape::kRing;
    }
    if (value.text == "Switch") {
      return Shape::kSwitch;
    }
    if (value.text == "FullyConnected") {
      return Shape::kFullyConnected;
    }
    fail(value, quote(value.text) + " is not a topology", "one of Ring, Switch, FullyConnected");
  }

  std::size_t count(const YamlValue& value) const {
    const auto number = whole_number(value.text, 1, static_cast<std::int64_t>(kImportVertexLimit));
    if (!number) {
      fail(value, quote(value.text) + " is not a number of NPUs");
    }
    return static_cast<std::size_t>(*number);
  }

  double number(const YamlValue& value, double lowest, double highest) const {
    const auto number = finite_number(value.text);
    if (!number || *number < lowest || *number > highest) {
      fail(value, quote(value.text) + " is not a number in range");
    }
    return *number;
  }

  std::string where_;
  YamlValue root_;
};

class NetworkBuilder {
 public:
  NetworkBuilder(std::vector<DimensionOfNetwork> dimensions, std::string where)
      : dimensions_(std::move(dimensions)), where_(std::move(where)) {}

  Cluster build() {
    check_size();
    inside_ = 1;
    bool switched = false;
    for (const DimensionOfNetwork& dimension : dimensions_) {
      switched = switched || dimension.shape == Shape::kSwitch;
    }
    inside_ = switched ? 1 : dimensions_.size();
    add_gpus();
    std::size_t stride = 1;
    for (std::size_t d = 0; d < dimensions_.size(); ++d) {
      add_dimension(d, stride);
      stride *= dimensions_[d].count;
    }
    return std::move(cluster_);
  }

 private:
  // Counts first: neither the product of the dimensions nor their links may be more than a machine can hold.
  void check_size() {
    std::size_t vertices = 1;
    for (const DimensionOfNetwork& dimension : dimensions_) {
      if (dimension.count > kImportVertexLimit / (4 * dimensions_.size()) / vertices) {
        throw Error("describes too many NPUs", where_, "their number is the product of npus_count");
      }
      vertices *= dimension.count;
    }
    total_ = vertices;
    for (const DimensionOfNetwork& dimension : dimensions_) {
      if (dimension.shape == Shape::kFullyConnected && dimension.count - 1 > kImportLinkLimit / total_) {
        throw Error("describes more than " + std::to_string(kImportLinkLimit) + " links", where_,
                    "FullyConnected links every NPU of a dimension to every other");
      }
    }
  }

  void add_gpus() {
    std::size_t per_node = 1;
    for (std::size_t d = 0; d < inside_; ++d) {
      per_node *= dimensions_[d].count;
    }
    cluster_.name = "astra-sim";
    const DeviceTypeId type = cluster_.add_device_type({.name = "NPU"});
    for (std::size_t i = 0; i < total_; ++i) {
      const std::string node = "node" + std::to_string(i / per_node);
      if (i % per_node == 0) {
        node_ = cluster_.add_node(node);
      }
      gpus_.push_back(cluster_.add_vertex({.kind = VertexKind::kGpu,
                                           .name = node + "/gpu" + std::to_string(i % per_node),
                                           .type = type,
                                           .node = node_}));
    }
  }

  void add_dimension(std::size_t d, std::size_t stride) {
    const std::vector<VertexId> ends = d < inside_ ? gpus_ : add_nics(d);
    const std::size_t count = dimensions_[d].count;
    std::size_t group = 0;
    for (std::size_t first = 0; first < total_; ++first) {
      if (first / stride % count == 0) {
        add_group(d, ends, first, stride, group++);
      }
    }
  }

  // A NIC of the dimension for each GPU, wide enough for its links there.
  std::vector<VertexId> add_nics(std::size_t d) {
    const DimensionOfNetwork& dimension = dimensions_[d];
    const double links = dimension.shape == Shape::kSwitch || dimension.count == 2 ? 1.0
                         : dimension.shape == Shape::kRing                         ? 2.0
                                                           : static_cast<double>(dimension.count) - 1.0;
    const BytesPerSecond rate = dimension.bandwidth * std::max(links, 1.0);
    const DeviceTypeId type = cluster_.add_device_type({.name = "NIC", .port_rate = dimension.bandwidth});
    std::vector<VertexId> nics;
    for (std::size_t i = 0; i < total_; ++i) {
      const Vertex gpu = cluster_.vertex(gpus_[i]);
      const std::size_t local = i % dimensions_.front().count;
      nics.push_back(cluster_.add_vertex(
          {.kind = VertexKind::kNic,
           .name = cluster_.nodes()[gpu.node->at()] + "/nic" + std::to_string(d) + "." + std::to_string(local),
           .type = type,
           .node = gpu.node,
           .rail = static_cast<std::int32_t>(local)}));
      cluster_.add_link(
          {.from = gpus_[i], .to = nics.back(), .kind = LinkKind::kPcie, .bandwidth = rate, .reverse_bandwidth = rate});
    }
    return nics;
  }

  void add_group(std::size_t d, const std::vector<VertexId>& ends, std::size_t first, std::size_t stride,
                 std::size_t group) {
    const DimensionOfNetwork& dimension = dimensions_[d];
    const auto end = [&](std::size_t i) { return ends[first + i * stride]; };
    if (dimension.shape == Shape::kSwitch) {
      const VertexId hub = add_hub(d, group, cluster_.vertex(ends[first]).node);
      for (std::size_t i = 0; i < dimension.count; ++i) {
        join(d, end(i), hub);
      }
      return;
    }
    for (std::size_t a = 0; a < dimension.count; ++a) {
      const std::size_t last = dimension.shape == Shape::kRing ? std::min(a + 2, dimension.count) : dimension.count;
      for (std::size_t b = a + 1; b < last; ++b) {
        join(d, end(a), end(b));
      }
    }
    if (dimension.shape == Shape::kRing && dimension.count > 2) {
      join(d, end(dimension.count - 1), end(0));
    }
  }

  VertexId add_hub(std::size_t d, std::size_t group, std::optional<NodeId> node) {
    if (d < inside_) {
      return cluster_.add_vertex({.kind = VertexKind::kNvswitch,
                                  .name = cluster_.nodes()[node->at()] + "/switch",
                                  .type = cluster_.add_device_type({.name = "NVSwitch"}),
                                  .node = node});
    }
    return cluster_.add_vertex({.kind = VertexKind::kLeaf,
                                .name = "dimension" + std::to_string(d) + "/switch" + std::to_string(group),
                                .type = cluster_.add_device_type({.name = "switch"})});
  }

  void join(std::size_t d, VertexId from, VertexId to) {
    const DimensionOfNetwork& dimension = dimensions_[d];
    const bool inside = d < inside_;
    cluster_.add_link({.from = from,
                       .to = to,
                       .kind = inside ? LinkKind::kNvlink : LinkKind::kCable,
                       .network = inside ? Network::kInternal : Network::kBackend,
                       .bandwidth = dimension.bandwidth,
                       .reverse_bandwidth = dimension.bandwidth,
                       .latency = dimension.latency});
  }

  std::vector<DimensionOfNetwork> dimensions_;
  std::string where_;
  std::size_t inside_ = 1;  // dimensions inside a host
  std::size_t total_ = 1;
  Cluster cluster_;
  NodeId node_;
  std::vector<VertexId> gpus_;
};

}  // namespace

Cluster import_astra_sim(std::string_view text, const std::string& where) {
  require_text(text, where);
  return NetworkBuilder(NetworkReader(text, where).read(), where).build();
}

}  // namespace trainyard
