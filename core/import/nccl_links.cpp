#include "core/import/nccl_links.h"

#include <algorithm>
#include <array>
#include <set>
#include <string_view>
#include <utility>

#include "core/document/text_match.h"
#include "core/import/bus_rates.h"
#include "core/import/text_lines.h"

namespace trainyard {

namespace {

constexpr std::int32_t kMostLinks = 1024;  // NVLinks or xGMI links of one element

class GpuJoiner {
 public:
  GpuJoiner(const XmlDocument& document, const NcclDevices& listed, const NcclVertices& vertices, const Parts& parts,
            Cluster& cluster)
      : document_(document), listed_(listed), vertices_(vertices), parts_(parts), cluster_(cluster) {
    for (std::size_t gpu = 0; gpu < vertices_.gpus.size(); ++gpu) {
      gpu_at_[device(gpu).bus] = gpu;
    }
  }

  NcclLinkCounts join() {
    for (std::size_t g = 0; g < vertices_.gpus.size(); ++g) {
      const pugi::xml_node gpu = device(g).element.child("gpu");
      for (const pugi::xml_node link : gpu.children()) {
        const std::string_view kind = link.name();
        if (kind == "nvlink" || kind == "xgmi") {
          read_gpu_link(g, link);
        } else if (kind == "c2c") {
          add_c2c(g, link);
        }
      }
    }
    for (const auto& [ends, count] : pairs_) {
      add_pair(ends.first, ends.second, count);
    }
    return counts_;
  }

 private:
  void read_gpu_link(std::size_t gpu, pugi::xml_node link) {
    const std::int32_t count = document_.whole(link, "count", 1, kMostLinks).value_or(1);
    const std::string target = link_target(link);
    if (is_nvswitch_link(link)) {
      cluster_.add_link(nvlink(gpu, vertices_.nvswitches.at(target), count));
      return;
    }
    if (XmlDocument::text(link, "tclass").starts_with("0x0604")) {  // POWER: NVLink to the CPU
      cluster_.add_link(nvlink(gpu, vertices_.cpus[device(gpu).cpu], count));
      return;
    }
    const auto peer = gpu_at_.find(target);
    if (peer == gpu_at_.end()) {
      ++counts_.to_absent;
      return;
    }
    if (peer->second == gpu) {
      document_.fail(link, "a GPU linked to itself");
    }
    const bool forward = gpu < peer->second;
    pairs_[{std::min(gpu, peer->second), std::max(gpu, peer->second)}][forward ? 0 : 1] += count;
    if (std::string_view(link.name()) == "xgmi") {
      xgmi_.insert(std::min(gpu, peer->second));
    }
  }

  Link nvlink(std::size_t gpu, VertexId to, std::int32_t links) {
    const auto sm = document_.whole(device(gpu).element.child("gpu"), "sm", 0, 10'000);
    const auto generation = sm ? nvlink_generation(*sm) : std::nullopt;
    counts_.unknown_nvlinks += generation ? 0 : 1;
    Link link = parts_.nvlink(vertex(gpu), to, generation.value_or(4), links);
    link.generation = generation;
    return link;
  }

  // Listed by both ends, as a rule alike; where only one end lists it, it is as wide both ways.
  void add_pair(std::size_t a, std::size_t b, std::array<std::int32_t, 2> count) {
    const std::int32_t there = count[0] > 0 ? count[0] : count[1];
    const std::int32_t back = count[1] > 0 ? count[1] : count[0];
    Link link = nvlink(a, vertex(b), std::max(there, back));
    if (xgmi_.contains(a)) {
      const std::string_view target = XmlDocument::text(device(a).element.child("gpu"), "gcn");
      counts_.unknown_nvlinks -= link.generation ? 0 : 1;
      const auto rate = xgmi_rate(target, 1);
      counts_.unknown_xgmi += rate ? 0 : 1;
      link.kind = LinkKind::kXgmi;
      link.generation.reset();
      link.bandwidth = rate.value_or(46_GBps) * link.width;
    }
    const BytesPerSecond one = link.bandwidth / link.width;
    link.bandwidth = one * there;
    link.reverse_bandwidth = one * back;
    cluster_.add_link(link);
  }

  void add_c2c(std::size_t gpu, pugi::xml_node c2c) {
    const std::int32_t count = document_.whole(c2c, "count", 1, kMostLinks).value_or(1);
    const auto megabytes = document_.whole(c2c, "bw", 1, 100'000'000);
    if (!megabytes) {
      document_.fail(c2c, "a chip-to-chip link without bw");
    }
    const auto rate = from_si<BytesPerSecond>(1e6 * *megabytes * count);
    cluster_.add_link({.from = vertex(gpu),
                       .to = vertices_.cpus[device(gpu).cpu],
                       .kind = LinkKind::kC2c,
                       .width = count,
                       .bandwidth = rate,
                       .reverse_bandwidth = rate,
                       .latency = parts_.c2c_latency()});
  }

  const NcclDevice& device(std::size_t gpu) const { return listed_.devices[vertices_.gpus[gpu]]; }
  VertexId vertex(std::size_t gpu) const { return vertices_.device[vertices_.gpus[gpu]]; }

  const XmlDocument& document_;
  const NcclDevices& listed_;
  const NcclVertices& vertices_;
  const Parts& parts_;
  Cluster& cluster_;
  NcclLinkCounts counts_;
  std::map<std::string, std::size_t> gpu_at_;  // position among the GPUs by bus id
  std::map<std::pair<std::size_t, std::size_t>, std::array<std::int32_t, 2>> pairs_;  // links each way
  std::set<std::size_t> xgmi_;  // GPUs whose pairs are joined by xGMI
};

}  // namespace

std::string link_target(pugi::xml_node link) { return lower_case(XmlDocument::text(link, "target")); }

bool is_nvswitch_link(pugi::xml_node link) { return XmlDocument::text(link, "tclass").starts_with("0x0680"); }

NcclLinkCounts join_nccl_gpus(const XmlDocument& document, const NcclDevices& listed, const NcclVertices& vertices,
                              const Parts& parts, Cluster& cluster) {
  return GpuJoiner(document, listed, vertices, parts, cluster).join();
}

}  // namespace trainyard
