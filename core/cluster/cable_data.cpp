#include "core/cluster/cable_data.h"

#include <algorithm>

#include "core/cluster/builtin_data.h"
#include "core/document/json_document.h"
#include "core/document/nearest_name.h"
#include "core/error.h"

namespace trainyard {

namespace {

RangedSeconds read_range(ObjectReader& parent, std::string_view key) {
  ObjectReader entry = parent.object(key);
  RangedSeconds range{entry.quantity<Seconds>("value"), entry.quantity<Seconds>("low"), entry.quantity<Seconds>("high"),
                      entry.text("source")};
  if (range.value < range.low || range.high < range.value) {
    entry.fail("value", "isn't between low and high");
  }
  entry.finish();
  return range;
}

CableFigures read_cable(ObjectReader& reader) {
  CableFigures figures;
  figures.type = reader.one_of("type", {CableType::kPassiveCopper, CableType::kActiveCopper, CableType::kActiveOptical,
                                        CableType::kMultimode, CableType::kSingleMode});
  figures.longest_m = reader.number("longest_m", 0.0, 1e6);
  figures.per_metre = read_range(reader, "per_metre");
  figures.modules = read_range(reader, "modules");
  figures.error_correction = read_range(reader, "error_correction");
  return figures;
}

void append(std::string& text, const std::string& what, const std::string& source) {
  if (!source.empty()) {
    text += (text.empty() ? "" : "; ") + what + source;
  }
}

DeviceFigures read_device(ObjectReader& reader) {
  DeviceFigures figures;
  DeviceType& type = figures.type;
  type.name = reader.text("name");
  type.ports = reader.optional_small_integer("ports", 1);
  type.deep_buffer = reader.optional_boolean("deep_buffer");
  type.gpudirect = reader.optional_boolean("gpudirect");
  type.source = reader.text("source");
  if (std::optional<ObjectReader> buffer = reader.optional_object("buffer")) {
    type.buffer = buffer->byte_count("value");
    append(type.source, "buffer: ", buffer->text("source"));
    buffer->finish();
  }
  if (std::optional<ObjectReader> memory = reader.optional_object("memory")) {
    type.memory_rate = memory->quantity<BytesPerSecond>("value");
    append(type.source, "memory: ", memory->text("source"));
    memory->finish();
  }
  if (reader.has("hop_latency")) {
    figures.hop_latency = read_range(reader, "hop_latency");
    type.hop_latency = figures.hop_latency->value;
    append(type.source, "latency: ", figures.hop_latency->source);
  }
  return figures;
}

ProcessorMemory read_processor(ObjectReader& reader) {
  ProcessorMemory processor;
  processor.name = reader.text("name");
  processor.vendor = reader.text("vendor");
  processor.family = reader.small_integer("family");
  processor.models = reader.integers("models", 0, 255);
  processor.rate = reader.quantity<BytesPerSecond>("memory");
  processor.source = reader.text("source");
  return processor;
}

}  // namespace

const CableFigures& CableTable::find(CableType type) const {
  const auto found =
      std::find_if(cables.begin(), cables.end(), [type](const CableFigures& c) { return c.type == type; });
  if (found == cables.end()) {
    throw Error("no figures for cables of type " + std::string(to_string(type)), "cables");
  }
  return *found;
}

Seconds CableTable::latency(const Cable& cable) const {
  const CableFigures& figures = find(cable.type);
  return cable.length_m * figures.per_metre.value + figures.modules.value + figures.error_correction.value;
}

RangedSeconds CableTable::latency_range(const Cable& cable) const {
  const CableFigures& figures = find(cable.type);
  RangedSeconds range;
  range.value = latency(cable);
  range.low = cable.length_m * figures.per_metre.low + figures.modules.low + figures.error_correction.low;
  range.high = cable.length_m * figures.per_metre.high + figures.modules.high + figures.error_correction.high;
  append(range.source, "per metre: ", figures.per_metre.source);
  append(range.source, "modules: ", figures.modules.source);
  append(range.source, "error correction: ", figures.error_correction.source);
  return range;
}

const DeviceType& DeviceTable::find(std::string_view name) const {
  const auto found =
      std::find_if(devices.begin(), devices.end(), [name](const DeviceFigures& d) { return d.type.name == name; });
  if (found != devices.end()) {
    return found->type;
  }
  std::vector<std::string> names;
  for (const DeviceFigures& device : devices) {
    names.push_back(device.type.name);
  }
  const std::optional<std::string> nearest = nearest_name(name, names);
  throw Error("no device is named '" + std::string(name) + "'", "devices",
              nearest ? "did you mean '" + *nearest + "'?" : "");
}

const ProcessorMemory* DeviceTable::processor(std::string_view vendor, std::int32_t family, std::int32_t model) const {
  const auto found = std::find_if(processors.begin(), processors.end(), [&](const ProcessorMemory& processor) {
    return processor.vendor == vendor && processor.family == family &&
           std::find(processor.models.begin(), processor.models.end(), model) != processor.models.end();
  });
  return found == processors.end() ? nullptr : &*found;
}

CableTable parse_cables(const std::string& text, const std::string& where) {
  ObjectReader root = parse_json_object(text, where);
  root.document("cables", kCablesSchema);
  CableTable table;
  root.for_each_object("types", [&](ObjectReader& reader) {
    const CableFigures figures = read_cable(reader);
    for (const CableFigures& known : table.cables) {
      if (known.type == figures.type) {
        reader.fail("type", "is there twice");
      }
    }
    table.cables.push_back(figures);
  });
  ObjectReader buses = root.object("buses");
  table.buses.nvlink = read_range(buses, "nvlink");
  table.buses.c2c = read_range(buses, "c2c");
  table.buses.pcie = read_range(buses, "pcie");
  table.buses.cpu_interconnect = read_range(buses, "cpu_interconnect");
  buses.finish();
  root.finish();
  return table;
}

DeviceTable parse_devices(const std::string& text, const std::string& where) {
  ObjectReader root = parse_json_object(text, where);
  root.document("devices", kDevicesSchema);
  DeviceTable table;
  root.for_each_object("devices", [&](ObjectReader& reader) { table.devices.push_back(read_device(reader)); });
  root.for_each_object("processors", [&](ObjectReader& reader) { table.processors.push_back(read_processor(reader)); });
  root.finish();
  return table;
}

CableTable builtin_cables() { return parse_cables(std::string(builtin_cables_text()), "models/cables/cables.json"); }

DeviceTable builtin_devices() {
  return parse_devices(std::string(builtin_devices_text()), "models/cables/devices.json");
}

}  // namespace trainyard
