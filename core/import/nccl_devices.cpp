#include "core/import/nccl_devices.h"

#include <set>

#include "core/document/text_match.h"
#include "core/error.h"
#include "core/import/limits.h"
#include "core/import/text_lines.h"

namespace trainyard {

namespace {

constexpr std::size_t kMostCpus = 64;

class DeviceReader {
 public:
  explicit DeviceReader(const XmlDocument& document) : document_(document) {}

  NcclDevices read() {
    for (const pugi::xml_node child : document_.root().children()) {
      const std::string_view name = child.name();
      if (name == "cpu") {
        read_cpu(child);
      } else if (name == "gpu") {
        document_.fail(child, "a GPU outside any CPU: this is FlagCX's map of GPUs to NICs, without PCIe and rates",
                       "hand in NCCL's own dump: run any NCCL program with NCCL_TOPO_DUMP_FILE=topo.xml");
      } else {
        document_.fail(child, "expected <cpu> here");
      }
    }
    if (read_.cpus.empty()) {
      document_.fail(document_.root(), "lists no CPU");
    }
    return std::move(read_);
  }

 private:
  void read_cpu(pugi::xml_node cpu) {
    if (read_.cpus.size() == kMostCpus) {
      document_.fail(cpu, "more than " + std::to_string(kMostCpus) + " CPUs in one node");
    }
    read_.cpus.push_back(cpu);
    for (const pugi::xml_node child : cpu.children()) {
      const std::string_view name = child.name();
      if (name == "pci") {
        read_pci(child, std::nullopt);
      } else if (name == "nic") {
        add(NcclDevice::Role::kNic, child, std::nullopt);
      } else {
        document_.fail(child, "expected <pci> or <nic> here");
      }
    }
  }

  void read_pci(pugi::xml_node pci, std::optional<std::size_t> parent) {
    const std::optional<NcclDevice::Role> role = role_of(pci);
    if (!role) {
      return;
    }
    const std::size_t device = add(*role, pci, parent);
    if (*role != NcclDevice::Role::kSwitch) {
      return;
    }
    for (const pugi::xml_node child : pci.children("pci")) {
      read_pci(child, device);
    }
  }

  std::optional<NcclDevice::Role> role_of(pugi::xml_node pci) {
    if (pci.child("gpu")) {
      return NcclDevice::Role::kGpu;
    }
    if (pci.child("pci")) {
      return NcclDevice::Role::kSwitch;
    }
    if (pci.child("nic")) {
      return NcclDevice::Role::kNic;
    }
    const std::string pci_class = lower_case(XmlDocument::text(pci, "class"));
    if (pci_class.empty()) {
      document_.fail(pci,
                     quote(XmlDocument::text(pci, "busid")) +
                         " has neither a class nor a <gpu> or <nic> inside, so what it is isn't known",
                     "hand in a dump of the running machine: any NCCL program with NCCL_TOPO_DUMP_FILE=topo.xml");
    }
    for (const char* gpu : {"0x0300", "0x0302", "0x0380", "0x1200"}) {
      if (pci_class.starts_with(gpu)) {
        return NcclDevice::Role::kGpu;
      }
    }
    if (pci_class.starts_with("0x02")) {
      return NcclDevice::Role::kNic;
    }
    read_.ignored += pci_class.starts_with("0x0604") ? 0 : 1;
    return std::nullopt;
  }

  std::size_t add(NcclDevice::Role role, pugi::xml_node element, std::optional<std::size_t> parent) {
    if (read_.devices.size() == kNodeDeviceLimit) {
      document_.fail(element, "more than " + std::to_string(kNodeDeviceLimit) + " devices in one node");
    }
    std::string bus = lower_case(XmlDocument::text(element, "busid"));
    if (!bus.empty() && !buses_.insert(bus).second) {
      document_.fail(element, "bus id " + quote(bus) + " is given twice");
    }
    read_.devices.push_back({role, element, std::move(bus), read_.cpus.size() - 1, parent});
    return read_.devices.size() - 1;
  }

  const XmlDocument& document_;
  NcclDevices read_;
  std::set<std::string> buses_;
};

}  // namespace

NcclDevices read_nccl_devices(const XmlDocument& document) { return DeviceReader(document).read(); }

}  // namespace trainyard
