// The topology document. Devices and links repeat few shapes, so each shape is written once and the long lists
// hold positions: 24,576 GPUs are 8 MB.
#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <unordered_map>
#include <unordered_set>

#include "core/cluster/cluster.h"
#include "core/document/json_document.h"
#include "core/document/json_pointer.h"
#include "core/document/write_file.h"
#include "core/error.h"

namespace trainyard {

namespace {

using nlohmann::ordered_json;

constexpr ByteCount kTopologyLimit = ByteCount(std::int64_t{256} << 20);

// ---- Writing

ordered_json to_json(const DeviceType& type) {
  ordered_json object;
  object["name"] = type.name;
  if (type.buffer) {
    object["buffer_bytes"] = type.buffer->value();
  }
  if (type.deep_buffer) {
    object["deep_buffer"] = *type.deep_buffer;
  }
  if (type.hop_latency) {
    object["hop_latency_s"] = type.hop_latency->si();
  }
  if (type.gpudirect) {
    object["gpudirect"] = *type.gpudirect;
  }
  if (type.ports) {
    object["ports"] = *type.ports;
  }
  if (type.port_rate) {
    object["port_bytes_per_second"] = type.port_rate->si();
  }
  if (type.memory_rate) {
    object["memory_bytes_per_second"] = type.memory_rate->si();
  }
  if (!type.source.empty()) {
    object["source"] = type.source;
  }
  return object;
}

ordered_json to_json(const Vertex& vertex) {
  ordered_json object;
  object["name"] = vertex.name;
  object["kind"] = std::string(to_string(vertex.kind));
  object["type"] = vertex.type.value();
  if (vertex.node) {
    object["node"] = vertex.node->value();
  }
  if (vertex.rail) {
    object["rail"] = *vertex.rail;
  }
  if (vertex.plane) {
    object["plane"] = *vertex.plane;
  }
  if (vertex.pod) {
    object["pod"] = *vertex.pod;
  }
  return object;
}

// A link without its ends.
ordered_json shape_to_json(const Link& link) {
  ordered_json object;
  object["kind"] = std::string(to_string(link.kind));
  object["network"] = std::string(to_string(link.network));
  if (link.generation) {
    object["generation"] = *link.generation;
  }
  object["width"] = link.width;
  object["bandwidth_bytes_per_second"] = link.bandwidth.si();
  if (link.reverse_bandwidth != link.bandwidth) {
    object["reverse_bandwidth_bytes_per_second"] = link.reverse_bandwidth.si();
  }
  object["latency_s"] = link.latency.si();
  if (link.cable) {
    object["cable"] = link.cable->value();
  }
  return object;
}

Link shape_of(Link link) {
  link.from = VertexId(0);
  link.to = VertexId(0);
  return link;
}

struct LinkShapeHash {
  std::size_t operator()(const Link& link) const {
    const std::hash<double> of_double;
    std::size_t hash = of_double(link.bandwidth.si());
    const auto mix = [&hash](std::size_t part) { hash = hash * 1099511628211ULL ^ part; };
    mix(of_double(link.reverse_bandwidth.si()));
    mix(of_double(link.latency.si()));
    mix(static_cast<std::size_t>(link.width));
    mix(static_cast<std::size_t>(link.kind));
    mix(static_cast<std::size_t>(link.network));
    mix(static_cast<std::size_t>(link.cable ? link.cable->value() : -1));
    return hash;
  }
};

// ---- Reading

// A position in a table of `size` entries.
template <class Id>
Id read_id(ObjectReader& reader, std::string_view key, std::size_t size) {
  const std::int64_t id = reader.integer(key);
  if (static_cast<std::size_t>(id) >= size) {
    reader.fail(key, std::to_string(id) + " is out of range: the list has " + std::to_string(size) + " entries");
  }
  return Id(id);
}

DeviceType read_device_type(ObjectReader& reader) {
  DeviceType type;
  type.name = reader.text("name");
  if (const std::optional<std::int64_t> bytes = reader.optional_integer("buffer_bytes")) {
    type.buffer = ByteCount(*bytes);
  }
  type.deep_buffer = reader.optional_boolean("deep_buffer");
  if (const std::optional<double> latency = reader.optional_number("hop_latency_s", 0.0)) {
    type.hop_latency = from_si<Seconds>(*latency);
  }
  type.gpudirect = reader.optional_boolean("gpudirect");
  type.ports = reader.optional_small_integer("ports", 1);
  if (const std::optional<double> rate = reader.optional_number("port_bytes_per_second", 0.0)) {
    type.port_rate = from_si<BytesPerSecond>(*rate);
  }
  if (const std::optional<double> rate = reader.optional_number("memory_bytes_per_second")) {
    if (!(*rate > 0.0)) {
      reader.fail("memory_bytes_per_second", "must be above zero");
    }
    type.memory_rate = from_si<BytesPerSecond>(*rate);
  }
  type.source = reader.optional_text("source").value_or("");
  return type;
}

Cable read_cable(ObjectReader& reader) {
  Cable cable;
  cable.type = reader.one_of("type", {CableType::kPassiveCopper, CableType::kActiveCopper, CableType::kActiveOptical,
                                      CableType::kMultimode, CableType::kSingleMode});
  cable.length_m = reader.number("length_m", 0.0, 1e6);
  return cable;
}

Vertex read_vertex(ObjectReader& reader, const Cluster& cluster) {
  Vertex vertex;
  vertex.name = reader.text("name");
  vertex.kind = reader.one_of(
      "kind", {VertexKind::kGpu, VertexKind::kNvswitch, VertexKind::kPcieSwitch, VertexKind::kCpu, VertexKind::kNic,
               VertexKind::kLeaf, VertexKind::kSpine, VertexKind::kCore, VertexKind::kStorage});
  vertex.type = read_id<DeviceTypeId>(reader, "type", cluster.device_types().size());
  if (reader.has("node")) {
    vertex.node = read_id<NodeId>(reader, "node", cluster.nodes().size());
  }
  vertex.rail = reader.optional_small_integer("rail");
  vertex.plane = reader.optional_small_integer("plane");
  vertex.pod = reader.optional_small_integer("pod");
  return vertex;
}

Link read_link_shape(ObjectReader& reader, const Cluster& cluster) {
  Link link;
  link.kind = reader.one_of("kind", {LinkKind::kNvlink, LinkKind::kXgmi, LinkKind::kC2c, LinkKind::kPcie,
                                     LinkKind::kCpuInterconnect, LinkKind::kCable});
  link.network = reader.one_of("network", {Network::kInternal, Network::kBackend, Network::kFrontend});
  link.generation = reader.optional_small_integer("generation");
  link.width = reader.small_integer("width", 1);
  const auto rate = [&reader](std::string_view key) {
    const double value = reader.number(key);
    if (!(value > 0.0)) {
      reader.fail(key, "must be above zero");
    }
    return from_si<BytesPerSecond>(value);
  };
  link.bandwidth = rate("bandwidth_bytes_per_second");
  link.reverse_bandwidth =
      reader.has("reverse_bandwidth_bytes_per_second") ? rate("reverse_bandwidth_bytes_per_second") : link.bandwidth;
  link.latency = from_si<Seconds>(reader.number("latency_s", 0.0));
  if (reader.has("cable")) {
    link.cable = read_id<CableId>(reader, "cable", cluster.cables().size());
  }
  return link;
}

// A row [from, to, shape] of positions, each below its limit.
void read_links(ObjectReader& root, const std::vector<Link>& shapes, Cluster& cluster) {
  const std::vector<std::vector<double>> rows = root.number_rows("links");
  const double vertices = static_cast<double>(cluster.vertices().size());
  const double limits[] = {vertices, vertices, static_cast<double>(shapes.size())};
  cluster.reserve(cluster.vertices().size(), rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const auto fail = [&](const std::string& what) {
      throw Error(what, root.where("links") + "/" + std::to_string(i), "a link is [from, to, shape]: positions");
    };
    if (rows[i].size() != 3) {
      fail("has " + std::to_string(rows[i].size()) + " numbers instead of 3");
    }
    for (std::size_t column = 0; column < 3; ++column) {
      const double value = rows[i][column];
      if (!(value >= 0.0 && value < limits[column]) || value != std::floor(value)) {
        fail("number " + std::to_string(column) + " isn't a position in its list");
      }
    }
    if (rows[i][0] == rows[i][1]) {
      fail("joins a vertex to itself");
    }
    Link link = shapes[static_cast<std::size_t>(rows[i][2])];
    link.from = VertexId(static_cast<std::int64_t>(rows[i][0]));
    link.to = VertexId(static_cast<std::int64_t>(rows[i][1]));
    cluster.add_link(link);
  }
}

void read_tables(ObjectReader& root, Cluster& cluster) {
  root.for_each_object("device_types", [&](ObjectReader& reader) {
    const std::size_t before = cluster.device_types().size();
    cluster.add_device_type(read_device_type(reader));
    if (cluster.device_types().size() == before) {
      reader.fail("name", "the same device type is there twice");
    }
  });
  root.for_each_object("cables", [&](ObjectReader& reader) {
    const std::size_t before = cluster.cables().size();
    cluster.add_cable(read_cable(reader));
    if (cluster.cables().size() == before) {
      reader.fail("type", "the same cable is there twice");
    }
  });
  for (std::string& node : root.texts("nodes")) {
    cluster.add_node(std::move(node));
  }
}

void read_vertices(ObjectReader& root, Cluster& cluster) {
  cluster.reserve(root.array_size("vertices"), 0);
  std::unordered_set<std::string> names;
  root.for_each_object("vertices", [&](ObjectReader& reader) {
    Vertex vertex = read_vertex(reader, cluster);
    if (!names.insert(vertex.name).second) {
      reader.fail("name", "'" + vertex.name + "' is there twice");
    }
    cluster.add_vertex(std::move(vertex));
  });
}

}  // namespace

std::string to_json(const Cluster& cluster) {
  ordered_json root;
  root["document"] = "topology";
  root["schema"] = kTopologySchema;
  root["name"] = cluster.name;
  if (cluster.congestion_control) {
    root["congestion_control"] = std::string(to_string(*cluster.congestion_control));
  }
  root["notes"] = cluster.notes;
  ordered_json& types = root["device_types"] = ordered_json::array();
  for (const DeviceType& type : cluster.device_types()) {
    types.push_back(to_json(type));
  }
  ordered_json& cables = root["cables"] = ordered_json::array();
  for (const Cable& cable : cluster.cables()) {
    cables.push_back({{"type", std::string(to_string(cable.type))}, {"length_m", cable.length_m}});
  }
  root["nodes"] = cluster.nodes();
  // One line a vertex; links in between are rows of three numbers.
  std::string text = root.dump(1, ' ', false, ordered_json::error_handler_t::replace);
  text.resize(text.rfind('}'));
  while (text.back() == '\n') {
    text.pop_back();
  }
  text += ",\n \"vertices\": [";
  for (std::size_t i = 0; i < cluster.vertices().size(); ++i) {
    text += i == 0 ? "\n  " : ",\n  ";
    text += to_json(cluster.vertices()[i]).dump(-1, ' ', false, ordered_json::error_handler_t::replace);
  }
  std::unordered_map<Link, std::size_t, LinkShapeHash> shapes;
  std::string shape_text;
  std::string link_text;
  for (const Link& link : cluster.links()) {
    const auto [entry, is_new] = shapes.try_emplace(shape_of(link), shapes.size());
    if (is_new) {
      shape_text += shape_text.empty() ? "\n  " : ",\n  ";
      shape_text += shape_to_json(link).dump();
    }
    link_text += link_text.empty() ? "\n  [" : ",\n  [";
    link_text += std::to_string(link.from.value()) + "," + std::to_string(link.to.value()) + "," +
                 std::to_string(entry->second) + "]";
  }
  text += "\n ],\n \"link_shapes\": [" + shape_text + "\n ],\n \"links\": [" + link_text + "\n ]\n}\n";
  return text;
}

Cluster parse_topology(const std::string& text, const std::string& where) {
  ObjectReader root = parse_json_object(text, where);
  root.document("topology", kTopologySchema);
  Cluster cluster;
  cluster.name = root.text("name");
  cluster.congestion_control = root.optional_one_of(
      "congestion_control", {CongestionControl::kCredit, CongestionControl::kPfc, CongestionControl::kLossy});
  if (root.has("notes")) {
    cluster.notes = root.texts("notes");
  }
  read_tables(root, cluster);
  read_vertices(root, cluster);
  std::vector<Link> shapes;
  root.for_each_object("link_shapes",
                       [&](ObjectReader& reader) { shapes.push_back(read_link_shape(reader, cluster)); });
  read_links(root, shapes, cluster);
  root.finish();
  return cluster;
}

Cluster read_topology(const std::filesystem::path& file) {
  return parse_topology(read_text_file(file, kTopologyLimit), file.string());
}

void write_topology(const Cluster& cluster, const std::filesystem::path& file) { write_file(file, to_json(cluster)); }

}  // namespace trainyard
