#include "core/import/hwloc_devices.h"

#include <algorithm>
#include <optional>

#include "core/import/bus_rates.h"
#include "core/import/limits.h"
#include "core/import/text_lines.h"

namespace trainyard {

namespace {

constexpr std::size_t kMostCpus = 64;

std::string_view type_of(pugi::xml_node object) { return XmlDocument::text(object, "type"); }

std::string info(pugi::xml_node object, const char* name) {
  return object.find_child_by_attribute("info", "name", name).attribute("value").as_string();
}

double link_speed(pugi::xml_node object) {
  const auto speed = finite_number(XmlDocument::text(object, "pci_link_speed"));
  return speed && *speed > 0.0 && *speed < 1e6 ? *speed : 0.0;
}

class DeviceReader {
 public:
  explicit DeviceReader(const XmlDocument& document) : document_(document) {}

  HwlocDevices read() {
    for (const pugi::xml_node object : document_.root().children("object")) {
      find_cpus(object);
    }
    if (read_.cpus.empty()) {
      read_.cpus.push_back({.index = "", .model = "CPU"});
    }
    std::size_t next = 0;
    for (const pugi::xml_node object : document_.root().children("object")) {
      find_architecture(object);
      visit(object, 0, next);
    }
    find_architecture(document_.root());
    return std::move(read_);
  }

 private:
  void find_architecture(pugi::xml_node object) {
    const std::string given = info(object, "Architecture");
    if (!given.empty()) {
      read_.architecture = given.starts_with("ppc64") ? "ppc64" : given == "aarch64" ? "arm64" : given;
    }
  }

  void find_cpus(pugi::xml_node object) {
    if (type_of(object) == "Package") {
      if (read_.cpus.size() == kMostCpus) {
        document_.fail(object, "more than " + std::to_string(kMostCpus) + " packages in one node");
      }
      const auto number = [&](const char* name) {
        return static_cast<std::int32_t>(whole_number(info(object, name), 0, 65535).value_or(0));
      };
      const std::string model = info(object, "CPUModel");
      read_.cpus.push_back({.index = std::string(XmlDocument::text(object, "gp_index")),
                            .model = model.empty() ? "CPU" : model,
                            .vendor = info(object, "CPUVendor"),
                            .family = number("CPUFamilyNumber"),
                            .number = number("CPUModelNumber")});
    }
    for (const pugi::xml_node child : object.children("object")) {
      find_cpus(child);
    }
  }

  // Packages come in the same order as in find_cpus; what is outside any belongs to the first.
  void visit(pugi::xml_node object, std::size_t cpu, std::size_t& next) {
    if (type_of(object) == "Package") {
      cpu = next++;
    }
    for (const pugi::xml_node child : object.children("object")) {
      const std::string_view type = type_of(child);
      if (type == "Bridge" || type == "PCIDev") {
        for (HwlocItem& item : collect(child)) {
          item.cpu = cpu;
          read_.items.push_back(std::move(item));
        }
      } else {
        visit(child, cpu, next);
      }
    }
  }

  // The outermost items below an object, the object included.
  std::vector<HwlocItem> collect(pugi::xml_node object) {
    if (type_of(object) == "PCIDev") {
      std::vector<HwlocItem> items;
      if (auto item = device(object)) {
        items.push_back(std::move(*item));
      }
      return items;
    }
    std::vector<HwlocItem> items;
    for (const pugi::xml_node child : object.children("object")) {
      for (HwlocItem& item : collect(child)) {
        items.push_back(std::move(item));
      }
    }
    if (XmlDocument::text(object, "bridge_type") == "0-1" || items.empty()) {
      return items;  // below a host bridge: each on a port of the CPU
    }
    const double speed = link_speed(object);
    if (items.size() == 1) {
      double& least = items.front().gigabytes;
      least = least > 0.0 && speed > 0.0 ? std::min(least, speed) : std::max(least, speed);
      return items;
    }
    check_room(object);
    HwlocItem pcie_switch{.role = HwlocItem::Role::kSwitch, .type = "PCIe switch", .gigabytes = speed};
    pcie_switch.below = std::move(items);
    std::vector<HwlocItem> outer;
    outer.push_back(std::move(pcie_switch));
    return outer;
  }

  void check_room(pugi::xml_node object) {
    if (++count_ > kNodeDeviceLimit) {
      document_.fail(object, "more than " + std::to_string(kNodeDeviceLimit) + " devices in one node");
    }
  }

  // pci_type: "0302 [10de:1db8] [10de:131d] a1 00".
  std::optional<HwlocItem> device(pugi::xml_node pci) {
    const std::vector<std::string_view> parts = words(XmlDocument::text(pci, "pci_type"));
    const std::string_view pci_class = parts.empty() ? std::string_view() : parts[0];
    const std::string_view ids = parts.size() > 1 ? parts[1] : std::string_view();
    const bool is_nic = pci_class.starts_with("02");
    if (!is_nic && !is_gpu(pci, pci_class)) {
      return std::nullopt;
    }
    check_room(pci);
    HwlocItem item{.role = is_nic ? HwlocItem::Role::kNic : HwlocItem::Role::kGpu, .gigabytes = link_speed(pci)};
    item.indices.emplace_back(XmlDocument::text(pci, "gp_index"));
    item.type = ids.size() == 11 ? device_name(ids.substr(1, 4), ids.substr(6, 4)).value_or("") : "";
    for (const pugi::xml_node child : pci.children("object")) {
      item.indices.emplace_back(XmlDocument::text(child, "gp_index"));
      const std::string model = info(child, "GPUModel");
      item.type = model.empty() ? item.type : model;
      const std::string_view name = XmlDocument::text(child, "name");
      if (is_nic && (item.name.empty() || is_fabric_name(name))) {
        item.name = name;
      }
    }
    if (item.type.empty()) {
      item.type = is_nic ? "NIC" : "GPU";
    }
    return item;
  }

  static bool is_fabric_name(std::string_view name) {
    constexpr std::string_view kPrefixes[] = {"mlx", "hfi", "bnxt_re", "irdma", "efa", "rdmap", "cxi"};
    return std::any_of(std::begin(kPrefixes), std::end(kPrefixes),
                       [name](std::string_view prefix) { return name.starts_with(prefix); });
  }

  // A display (0300) is a GPU for work only where a compute library found it.
  static bool is_gpu(pugi::xml_node pci, std::string_view pci_class) {
    if (pci_class == "0302" || pci_class == "0380" || pci_class == "1200") {
      return true;
    }
    if (pci_class != "0300") {
      return false;
    }
    for (const pugi::xml_node child : pci.children("object")) {
      const std::string_view name = XmlDocument::text(child, "name");
      if (name.starts_with("nvml") || name.starts_with("cuda") || name.starts_with("rsmi") || name.starts_with("ze")) {
        return true;
      }
    }
    return false;
  }

  const XmlDocument& document_;
  HwlocDevices read_;
  std::size_t count_ = 0;
};

}  // namespace

HwlocDevices read_hwloc_devices(const XmlDocument& document) { return DeviceReader(document).read(); }

}  // namespace trainyard
