#include "core/import/detect.h"

#include <algorithm>
#include <array>
#include <vector>

#include "core/import/text_lines.h"

namespace trainyard {

namespace {

constexpr std::size_t kLooked = std::size_t{1} << 16;  // bytes at the start that are looked at

bool has(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

// The name of the first element, past the declaration, comments and the document type.
std::string_view root_element(std::string_view text) {
  while (true) {
    const std::size_t open = text.find('<');
    if (open == std::string_view::npos) {
      return {};
    }
    text.remove_prefix(open + 1);
    if (text.starts_with("!--")) {
      const std::size_t end = text.find("-->");
      text.remove_prefix(end == std::string_view::npos ? text.size() : end + 3);
    } else if (!text.starts_with('?') && !text.starts_with('!')) {
      return text.substr(0, text.find_first_of(" \t\r\n/>"));
    }
  }
}

TopologyKind kind_of_xml(std::string_view text) {
  const std::string_view root = root_element(text);
  return root == "system"     ? TopologyKind::kNcclXml
         : root == "topology" ? TopologyKind::kHwlocXml
                              : TopologyKind::kOtherXml;
}

TopologyKind kind_of_json(std::string_view text) {
  if (has(text, "\"compounded_links\"") || has(text, "\"compounded_nodes\"")) {
    return TopologyKind::kNetq;
  }
  return text.starts_with('{') && has(text, "\"topology\"") ? TopologyKind::kTopology : TopologyKind::kOtherJson;
}

bool all_numbers(const std::vector<std::string_view>& found, std::size_t count) {
  return found.size() >= count &&
         std::all_of(found.begin(), found.begin() + static_cast<std::ptrdiff_t>(count),
                     [](std::string_view word) { return whole_number(word, 0, 1'000'000'000).has_value(); });
}

TopologyKind kind_of_line(std::string_view line, bool is_first) {
  const std::vector<std::string_view> found = words(line);
  if (found.empty()) {
    return TopologyKind::kUnknown;
  }
  if (starts_with_word(line, "switchname=") || starts_with_word(line, "blockname=") ||
      starts_with_word(line, "blocksizes=")) {
    return TopologyKind::kSlurm;
  }
  if (found.size() >= 3 && (found[0] == "Switch" || found[0] == "Ca" || found[0] == "Hca" || found[0] == "Rt") &&
      whole_number(found[1], 0, 255) && found[2].starts_with('"')) {
    return TopologyKind::kIbnetdiscover;
  }
  if (line.starts_with("topology:") || line.starts_with("npus_count:")) {
    return TopologyKind::kAstraSim;
  }
  if (line.starts_with("switches:") || line.starts_with("blocks:")) {
    return TopologyKind::kTopographYaml;
  }
  const std::string_view first = found[0].substr(
      found[0].find_last_of('m') == std::string_view::npos || !found[0].starts_with('\x1b') ? 0
                                                                                            : found[0].find('m') + 1);
  if (first == "GPU0" && found.size() > 1) {
    return TopologyKind::kNvidiaSmiTopo;
  }
  if (is_first && ((found.size() == 6 && all_numbers(found, 5)) || (found.size() == 3 && all_numbers(found, 3)))) {
    return TopologyKind::kSimai;
  }
  return TopologyKind::kUnknown;
}

}  // namespace

std::string_view to_string(TopologyKind kind) {
  constexpr std::array<std::string_view, 15> kNames = {
      "Trainyard topology",  "NCCL topology XML",    "hwloc XML",
      "nvidia-smi topo -m",  "ibnetdiscover output", "Slurm topology.conf",
      "NetQ topology graph", "topograph YAML",       "SimAI or HPCC topology",
      "ASTRA-sim network",   "nccl-tests result",    "NCCL log",
      "XML of another kind", "JSON of another kind", "unknown"};
  return kNames[static_cast<std::size_t>(kind)];
}

TopologyKind detect_topology(std::string_view text) {
  const std::string_view start = trimmed(text.substr(0, kLooked));
  if (start.starts_with('<')) {
    return kind_of_xml(start);
  }
  if (start.starts_with('{') || (start.starts_with('[') && !has(start, "<stdout>"))) {
    return kind_of_json(start);
  }
  TextLines lines(start);
  std::string_view line;
  bool is_first = true;
  while (lines.next(line)) {
    const TopologyKind kind = kind_of_line(line, is_first);
    if (kind != TopologyKind::kUnknown) {
      return kind;
    }
    is_first = is_first && trimmed(line).empty();
  }
  if (has(start, "busbw") || has(start, "algbw") || (has(start, "payload") && has(start, "GBps"))) {
    return TopologyKind::kNcclTestsResult;
  }
  if (has(start, "NCCL INFO")) {
    return TopologyKind::kNcclLog;
  }
  return has(start, "# Topology file: generated") ? TopologyKind::kIbnetdiscover : TopologyKind::kUnknown;
}

}  // namespace trainyard
