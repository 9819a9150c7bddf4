#include "gui/paint/cluster_picture.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <numbers>
#include <numeric>

#include "simulator/collective/algorithms/group_layout.h"

namespace trainyard::gui {

namespace {

constexpr std::size_t kWholeHosts = 2;
constexpr double kAspect = 1.5;      // of a pod
constexpr double kPodGap = 0.12;     // of a pod's width
constexpr double kStrip = 0.035;     // height of a strip of switches, of the width
constexpr double kNameBand = 0.075;  // above the lattice
constexpr double kMargin = 0.02;
constexpr std::size_t kMostPods = 96;  // more are merged, neighbours first
constexpr double kDeviceWidth = 1.7;
constexpr double kDeviceHeight = 0.8;
constexpr double kRowPitch = 2.6;
constexpr double kColumnPitch = 2.1;

// From the top: what is drawn whole.
constexpr std::array<VertexKind, 9> kRows = {VertexKind::kCore,       VertexKind::kSpine, VertexKind::kStorage,
                                             VertexKind::kLeaf,       VertexKind::kNic,   VertexKind::kCpu,
                                             VertexKind::kPcieSwitch, VertexKind::kGpu,   VertexKind::kNvswitch};

struct Sets {  // union-find
  explicit Sets(std::size_t size) : parent(size) { std::iota(parent.begin(), parent.end(), std::size_t{0}); }
  std::size_t find(std::size_t i) {
    while (parent[i] != i) {
      parent[i] = parent[parent[i]];
      i = parent[i];
    }
    return i;
  }
  void join(std::size_t a, std::size_t b) { parent[std::max(find(a), find(b))] = std::min(find(a), find(b)); }
  std::vector<std::size_t> parent;
};

}  // namespace

class ClusterPicture::Builder {
 public:
  Builder(const Cluster& cluster, ClusterPicture& picture)
      : cluster_(cluster), picture_(picture), gpus_(cluster.gpus()), domains_(cluster) {
    picture_.rects_.resize(cluster.vertices().size());
    picture_.anchors_.resize(cluster.vertices().size());
    picture_.pod_of_.assign(cluster.vertices().size(), kAbove);
    picture_.rank_of_.assign(cluster.vertices().size(), -1);
    for (std::size_t rank = 0; rank < gpus_.size(); ++rank) {
      picture_.rank_of_[gpus_[rank].at()] = static_cast<std::int32_t>(rank);
    }
  }

  void build() {
    if (cluster_.nodes().size() <= kWholeHosts || gpus_.empty()) {
      draw_whole();
    } else {
      find_pods();
      fill_pods();
      place_pods();
      place_band();
      place_insides();
      sort_links();
    }
    QRectF bounds;
    for (const QRectF& rect : picture_.rects_) {
      bounds = bounds.united(rect);
    }
    for (const PodPicture& pod : picture_.pods_) {
      bounds = bounds.united(pod.frame);
    }
    const double room = 0.03 * std::max(bounds.width(), bounds.height());
    picture_.bounds_ = bounds.adjusted(-room, -room, room, room);
  }

 private:
  const Vertex& vertex(std::size_t id) const { return cluster_.vertices()[id]; }
  bool is_switch(VertexId id) const { return is_fabric_switch(cluster_.vertex(id).kind); }

  void place(VertexId id, const QRectF& rect) {
    picture_.rects_[id.at()] = rect;
    picture_.anchors_[id.at()] = rect.center();
  }

  // Domains and leaves that cables of the preferred network join, or the pod that leaves are labelled with.
  void find_pods() {
    const std::size_t domains = domains_.size();
    Sets sets(domains + cluster_.vertices().size());
    std::map<std::int32_t, std::map<std::int32_t, int>> labels;  // by domain: pod and how many cables
    const bool backend = std::any_of(cluster_.links().begin(), cluster_.links().end(), [](const Link& link) {
      return link.kind == LinkKind::kCable && link.network == Network::kBackend;
    });
    for (const Link& link : cluster_.links()) {
      if (link.kind != LinkKind::kCable || (backend && link.network != Network::kBackend)) {
        continue;
      }
      const bool first = is_switch(link.from);
      if (first == is_switch(link.to)) {
        continue;
      }
      const VertexId leaf = first ? link.from : link.to;
      const VertexId end = first ? link.to : link.from;
      const std::int32_t domain = domains_.of(end);
      if (const auto pod = cluster_.vertex(leaf).pod) {
        ++labels[domain][*pod];
      }
      sets.join(static_cast<std::size_t>(domain), domains + leaf.at());
      leaf_of_.try_emplace(domain, leaf);
    }
    std::map<std::pair<bool, std::int64_t>, std::vector<std::int32_t>> pods;  // domains, in rank order
    std::map<std::int32_t, bool> seen;
    for (const VertexId gpu : gpus_) {
      const std::int32_t domain = domains_.of(gpu);
      gpus_of_[domain].push_back(picture_.rank_of_[gpu.at()]);
      if (!seen.try_emplace(domain, true).second) {
        continue;
      }
      const auto label = labels.find(domain);
      if (label != labels.end()) {
        const auto most = std::max_element(label->second.begin(), label->second.end(),
                                           [](const auto& a, const auto& b) { return a.second < b.second; });
        pods[{true, most->first}].push_back(domain);
      } else {
        pods[{false, static_cast<std::int64_t>(sets.find(static_cast<std::size_t>(domain)))}].push_back(domain);
      }
    }
    for (auto& [key, of_pod] : pods) {
      labels_.push_back(key.first ? std::optional(static_cast<std::int32_t>(key.second)) : std::nullopt);
      pods_.push_back(std::move(of_pod));
    }
    merge_pods();
    for (std::size_t pod = 0; pod < pods_.size(); ++pod) {
      for (const std::int32_t domain : pods_[pod]) {
        pod_of_domain_[domain] = static_cast<int>(pod);
      }
    }
  }

  // Hosts without a network, and rings of hundreds of routers: neighbours together.
  void merge_pods() {
    if (pods_.size() <= kMostPods) {
      return;
    }
    const auto wanted = static_cast<std::size_t>(std::ceil(std::sqrt(static_cast<double>(pods_.size()))));
    std::vector<std::vector<std::int32_t>> merged(wanted);
    for (std::size_t i = 0; i < pods_.size(); ++i) {
      std::vector<std::int32_t>& into = merged[i * wanted / pods_.size()];
      into.insert(into.end(), pods_[i].begin(), pods_[i].end());
    }
    merged_ = true;
    pods_ = std::move(merged);
    labels_.assign(wanted, std::nullopt);
  }

  void fill_pods() {
    picture_.cells_.resize(gpus_.size());
    for (std::size_t p = 0; p < pods_.size(); ++p) {
      PodPicture pod;
      pod.name = pods_.size() == 1 ? (cluster_.name.empty() ? "cluster" : cluster_.name)
                 : labels_[p]      ? "pod " + std::to_string(*labels_[p])
                                   : std::string(merged_ ? "hosts from " : "hosts of ") + host_name(pods_[p].front());
      fill_lattice(pod, static_cast<int>(p));
      picture_.pods_.push_back(std::move(pod));
    }
    for (std::size_t v = 0; v < cluster_.vertices().size(); ++v) {
      assign(VertexId(static_cast<std::int64_t>(v)));
    }
  }

  std::string host_name(std::int32_t domain) const {
    const VertexId gpu = gpus_[static_cast<std::size_t>(gpus_of_.at(domain).front())];
    const Vertex& of = cluster_.vertex(gpu);
    return of.node ? cluster_.nodes()[of.node->at()] : of.name;
  }

  void fill_lattice(PodPicture& pod, int index) {
    std::vector<std::int32_t>& domains = pods_[static_cast<std::size_t>(index)];
    // Hosts of one leaf side by side.
    const auto leaf = [&](std::int32_t domain) {
      const auto found = leaf_of_.find(domain);
      return found == leaf_of_.end() ? std::int32_t{-1} : found->second.value();
    };
    std::stable_sort(domains.begin(), domains.end(), [&](auto a, auto b) { return leaf(a) < leaf(b); });
    std::size_t most = 1;
    for (const std::int32_t domain : domains) {
      most = std::max(most, gpus_of_.at(domain).size());
    }
    const int height = std::max(1, static_cast<int>(std::sqrt(static_cast<double>(most) / 2.0)));
    const int width = (static_cast<int>(most) + height - 1) / height;
    const auto count = static_cast<int>(domains.size());
    const int across = std::clamp(
        static_cast<int>(std::lround(std::sqrt(count * kAspect * height / static_cast<double>(width)))), 1, count);
    const int down = (count + across - 1) / across;
    pod.columns = across * width;
    pod.rows = down * height;
    pod.cells.assign(static_cast<std::size_t>(pod.columns) * static_cast<std::size_t>(pod.rows), -1);
    for (int i = 0; i < count; ++i) {
      const std::int32_t domain = domains[static_cast<std::size_t>(i)];
      BlockPicture block = {host_name(domain), i % across * width, i / across * height, width, height};
      const std::vector<std::int32_t>& ranks = gpus_of_.at(domain);
      for (std::size_t g = 0; g < ranks.size(); ++g) {
        const CellPlace cell = {index, block.column + static_cast<int>(g) % width,
                                block.row + static_cast<int>(g) / width};
        picture_.cells_[static_cast<std::size_t>(ranks[g])] = cell;
        pod.cells[static_cast<std::size_t>(cell.row) * static_cast<std::size_t>(pod.columns) +
                  static_cast<std::size_t>(cell.column)] = ranks[g];
      }
      pod.blocks.push_back(std::move(block));
    }
  }

  // A switch belongs to the pod of its label, a leaf without one to its hosts' pod; the rest lies above.
  void assign(VertexId id) {
    const Vertex& of = cluster_.vertex(id);
    int pod = kAbove;
    if (of.node || of.kind == VertexKind::kGpu || of.kind == VertexKind::kNvswitch) {
      const auto found = pod_of_domain_.find(domains_.of(id));
      pod = found == pod_of_domain_.end() ? kAbove : found->second;
    } else if (of.pod) {
      const auto found = std::find(labels_.begin(), labels_.end(), of.pod);
      pod = found == labels_.end() ? kAbove : static_cast<int>(found - labels_.begin());
    } else if (of.kind == VertexKind::kLeaf) {
      pod = pod_of_leaf(id);
    }
    picture_.pod_of_[id.at()] = pod;
    if (pod == kAbove) {
      if (is_fabric_switch(of.kind) || of.kind == VertexKind::kStorage) {
        picture_.above_.push_back(id);
      }
      return;
    }
    PodPicture& into = picture_.pods_[static_cast<std::size_t>(pod)];
    if (of.kind == VertexKind::kLeaf) {
      into.leaves.push_back(id);
    } else if (is_fabric_switch(of.kind)) {
      into.spines.push_back(id);
    } else if (of.kind == VertexKind::kNvswitch && !of.node) {
      into.others.push_back(id);
    }
  }

  int pod_of_leaf(VertexId leaf) {
    if (pods_of_leaves_.empty()) {
      for (const Link& link : cluster_.links()) {
        const bool first = is_switch(link.from);
        if (link.kind == LinkKind::kCable && first != is_switch(link.to)) {
          const auto pod = pod_of_domain_.find(domains_.of(first ? link.to : link.from));
          if (pod != pod_of_domain_.end()) {
            const VertexId of = first ? link.from : link.to;
            const auto [entry, added] = pods_of_leaves_.try_emplace(of, pod->second);
            if (!added && entry->second != pod->second) {
              entry->second = kAbove;  // of several pods: a leaf of the front end, or of all rails
            }
          }
        }
      }
    }
    const auto found = pods_of_leaves_.find(leaf);
    return found == pods_of_leaves_.end() ? kAbove : found->second;
  }

  bool ringed() const {
    return picture_.pods_.size() > 2 && std::none_of(picture_.above_.begin(), picture_.above_.end(),
                                                     [&](VertexId id) { return backend_switch(id); });
  }

  bool backend_switch(VertexId id) const {
    return std::any_of(cluster_.links().begin(), cluster_.links().end(), [&](const Link& link) {
      return link.network == Network::kBackend && (link.from == id || link.to == id);
    });
  }

  void place_pods() {
    double width = 0.0;
    double height = 0.0;
    for (const PodPicture& pod : picture_.pods_) {
      width = std::max(width, static_cast<double>(pod.columns));
      height = std::max(height, static_cast<double>(pod.rows));
    }
    width = std::max(width, 8.0);
    unit_ = width;
    const double strips = (kNameBand + 5.0 * kStrip) * width;
    const QSizeF size(width * (1.0 + 2.0 * kMargin), height + strips + 2.0 * kMargin * width);
    const auto count = static_cast<int>(picture_.pods_.size());
    if (ringed()) {
      const double radius = std::max(size.width(), size.height()) * 1.25 * count / (2.0 * std::numbers::pi);
      for (int p = 0; p < count; ++p) {
        const double angle = 2.0 * std::numbers::pi * p / count - std::numbers::pi / 2.0;
        const QPointF centre(radius * 1.3 * std::cos(angle), radius * std::sin(angle));
        place_pod(p, QRectF(centre - QPointF(size.width() / 2.0, size.height() / 2.0), size), centre.y() > 0.0);
      }
      band_ = QRectF();
      return;
    }
    const int per_row = count <= 2 ? count : (count + 1) / 2;
    const double pitch = size.width() * (1.0 + kPodGap);
    const double band =
        picture_.above_.empty() ? 0.1 * size.height() : std::max(0.4 * size.height(), 0.1 * pitch * per_row);
    const bool two_rows = count > per_row;
    for (int p = 0; p < count; ++p) {
      const bool upper = two_rows && p < per_row;
      const int place = two_rows ? p % per_row : p;
      const double y = upper ? 0.0 : (two_rows ? size.height() : 0.0) + band;
      place_pod(p, QRectF(QPointF(place * pitch, y), size), !upper);
    }
    const double y = two_rows ? size.height() : 0.0;
    band_ = QRectF(0.0, y, pitch * per_row - size.width() * kPodGap, band);
  }

  // strips_on_top: the side that faces the band.
  void place_pod(int index, const QRectF& frame, bool strips_on_top) {
    PodPicture& pod = picture_.pods_[static_cast<std::size_t>(index)];
    pod.frame = frame;
    const double strip = kStrip * unit_;
    const double margin = kMargin * unit_;
    const double name = kNameBand * unit_;
    const double left = frame.left() + (frame.width() - pod.columns) / 2.0;
    const double lattice_top = strips_on_top ? frame.top() + name + 5.0 * strip : frame.top() + name;
    pod.lattice = QRectF(left, lattice_top, pod.columns, pod.rows);
    const double inner = frame.width() - 2.0 * margin;
    const double spines = strips_on_top ? frame.top() + name : frame.bottom() - margin - strip;
    const double leaves = strips_on_top ? spines + 2.5 * strip : spines - 2.5 * strip;
    place_strip(pod.spines, QRectF(frame.left() + margin, spines, inner, strip));
    place_strip(pod.leaves, QRectF(frame.left() + margin, leaves, inner, strip));
    pod.port = QPointF(frame.center().x(), strips_on_top ? frame.top() : frame.bottom());
  }

  void place_strip(const std::vector<VertexId>& switches, const QRectF& strip) {
    const auto count = static_cast<double>(switches.size());
    for (std::size_t i = 0; i < switches.size(); ++i) {
      const double pitch = strip.width() / count;
      const double width = std::min(pitch * 0.86, strip.height() * 4.0);
      const double centre = strip.left() + (static_cast<double>(i) + 0.5) * pitch;
      place(switches[i], QRectF(centre - width / 2.0, strip.top(), width, strip.height()));
    }
  }

  void place_band() {
    if (band_.isNull()) {
      // In the ring's middle.
      band_ = QRectF(-unit_, -0.1 * unit_, 2.0 * unit_, 0.2 * unit_);
    }
    std::map<VertexKind, std::vector<VertexId>> tiers;
    for (const VertexId id : picture_.above_) {
      tiers[cluster_.vertex(id).kind].push_back(id);
    }
    const double pitch = band_.height() / (static_cast<double>(tiers.size()) + 1.0);
    double y = band_.top();
    for (const VertexKind kind : {VertexKind::kStorage, VertexKind::kCore, VertexKind::kSpine, VertexKind::kLeaf}) {
      const auto tier = tiers.find(kind);
      if (tier != tiers.end()) {
        y += pitch;
        const double height = std::min(kStrip * unit_ * 1.4, pitch * 0.6);
        place_strip(tier->second, QRectF(band_.left(), y - height / 2.0, band_.width(), height));
      }
    }
  }

  // GPUs at their cells; NICs at the lower edge of the GPUs they serve, the rest in the middle of its block.
  void place_insides() {
    std::map<std::int32_t, std::vector<VertexId>> nics;
    for (std::size_t rank = 0; rank < gpus_.size(); ++rank) {
      place(gpus_[rank], picture_.cell_rect(picture_.cells_[rank]));
    }
    for (std::size_t v = 0; v < cluster_.vertices().size(); ++v) {
      const VertexId id(static_cast<std::int64_t>(v));
      const auto gpus = gpus_of_.find(domains_.of(id));
      if (!picture_.rects_[v].isNull() || gpus == gpus_of_.end()) {
        continue;
      }
      if (vertex(v).kind == VertexKind::kNic) {
        nics[domains_.of(id)].push_back(id);
      }
      QPointF centre;
      for (const std::int32_t rank : gpus->second) {
        centre += picture_.cell_rect(picture_.cells_[static_cast<std::size_t>(rank)]).center();
      }
      picture_.anchors_[v] = centre / static_cast<double>(gpus->second.size());
    }
    for (const auto& [domain, of] : nics) {
      const std::vector<std::int32_t>& gpus = gpus_of_.at(domain);
      for (std::size_t i = 0; i < of.size(); ++i) {
        const std::int32_t rank = gpus[i * gpus.size() / of.size()];
        const QRectF cell = picture_.cell_rect(picture_.cells_[static_cast<std::size_t>(rank)]);
        picture_.anchors_[of[i].at()] = QPointF(cell.center().x(), cell.bottom() - 0.12);
      }
    }
    for (PodPicture& pod : picture_.pods_) {
      for (const VertexId id : pod.others) {
        picture_.anchors_[id.at()] = pod.lattice.center();
      }
    }
  }

  void sort_links() {
    std::map<std::pair<int, int>, std::size_t> found;
    for (std::size_t l = 0; l < cluster_.links().size(); ++l) {
      const LinkId id(static_cast<std::int64_t>(l));
      const Link& link = cluster_.link(id);
      const int from = picture_.pod_of_[link.from.at()];
      const int to = picture_.pod_of_[link.to.at()];
      if (from == to) {
        if (from == kAbove) {
          picture_.loose_links_.push_back(id);
        } else {
          picture_.pods_[static_cast<std::size_t>(from)].links.push_back(id);
        }
        continue;
      }
      const auto [entry, added] = found.try_emplace(std::minmax(from, to), picture_.trunks_.size());
      if (added) {
        Trunk trunk;
        std::tie(trunk.from, trunk.to) = std::minmax(from, to);
        trunk.end = picture_.pods_[static_cast<std::size_t>(trunk.to)].port;
        if (trunk.from == kAbove) {
          const double y =
              std::clamp(trunk.end.y(), band_.top() + 0.3 * band_.height(), band_.bottom() - 0.3 * band_.height());
          trunk.begin = QPointF(trunk.end.x(), y);
        } else {
          trunk.begin = picture_.pods_[static_cast<std::size_t>(trunk.from)].frame.center();
          trunk.end = picture_.pods_[static_cast<std::size_t>(trunk.to)].frame.center();
        }
        picture_.trunks_.push_back(std::move(trunk));
      }
      picture_.trunks_[entry->second].links.push_back(id);
    }
  }

  void draw_whole() {
    std::map<VertexKind, std::vector<VertexId>> rows;
    std::map<std::int32_t, std::size_t> widest;  // by host (-1: none), devices in its widest row
    std::map<std::pair<VertexKind, std::int32_t>, std::vector<VertexId>> parts;
    for (std::size_t v = 0; v < cluster_.vertices().size(); ++v) {
      const VertexId id(static_cast<std::int64_t>(v));
      const std::int32_t host = vertex(v).node ? vertex(v).node->value() : -1;
      std::vector<VertexId>& part = parts[{vertex(v).kind, host}];
      part.push_back(id);
      if (host >= 0) {
        widest[host] = std::max(widest[host], part.size());
      }
      rows[vertex(v).kind].push_back(id);
      picture_.devices_.push_back(id);
    }
    std::map<std::int32_t, double> left;
    double total = 0.0;
    for (const auto& [host, count] : widest) {
      left[host] = total;
      total += (static_cast<double>(count) + 0.6) * kColumnPitch;
    }
    for (const auto& [key, part] : parts) {
      total = std::max(total, key.second < 0 ? static_cast<double>(part.size()) * kColumnPitch : 0.0);
    }
    double y = 0.0;
    for (const VertexKind kind : kRows) {
      if (!rows.contains(kind)) {
        continue;
      }
      for (const auto& [key, part] : parts) {
        if (key.first == kind) {
          const double from = key.second < 0 ? 0.0 : left[key.second];
          const double width = key.second < 0 ? total : static_cast<double>(widest[key.second]) * kColumnPitch;
          const double pitch = width / static_cast<double>(part.size());
          for (std::size_t i = 0; i < part.size(); ++i) {
            const double centre = from + (static_cast<double>(i) + 0.5) * pitch;
            place(part[i], QRectF(centre - kDeviceWidth / 2.0, y, kDeviceWidth, kDeviceHeight));
          }
        }
      }
      y += kRowPitch;
    }
    for (std::size_t l = 0; l < cluster_.links().size(); ++l) {
      picture_.loose_links_.emplace_back(static_cast<std::int64_t>(l));
    }
  }

  const Cluster& cluster_;
  ClusterPicture& picture_;
  std::vector<VertexId> gpus_;
  simulator::Domains domains_;
  std::map<std::int32_t, std::vector<std::int32_t>> gpus_of_;  // ranks by domain
  std::map<std::int32_t, VertexId> leaf_of_;                   // first leaf by domain
  std::vector<std::vector<std::int32_t>> pods_;                // domains
  std::vector<std::optional<std::int32_t>> labels_;
  std::map<std::int32_t, int> pod_of_domain_;
  std::map<VertexId, int> pods_of_leaves_;
  bool merged_ = false;
  double unit_ = 1.0;
  QRectF band_;
};

ClusterPicture::ClusterPicture(const Cluster& cluster) { Builder(cluster, *this).build(); }

std::optional<QRectF> ClusterPicture::rect(VertexId vertex) const {
  const QRectF& rect = rects_[vertex.at()];
  return rect.isNull() ? std::nullopt : std::optional(rect);
}

const CellPlace* ClusterPicture::cell(Rank rank) const {
  return rank.at() < cells_.size() ? &cells_[rank.at()] : nullptr;
}

QRectF ClusterPicture::cell_rect(const CellPlace& place) const {
  const QRectF& lattice = pods_[static_cast<std::size_t>(place.pod)].lattice;
  return {lattice.left() + place.column, lattice.top() + place.row, 1.0, 1.0};
}

std::optional<Rank> ClusterPicture::rank_at(QPointF position) const {
  for (const PodPicture& pod : pods_) {
    if (pod.lattice.contains(position)) {
      const int column = std::min(static_cast<int>(position.x() - pod.lattice.left()), pod.columns - 1);
      const int row = std::min(static_cast<int>(position.y() - pod.lattice.top()), pod.rows - 1);
      const std::int32_t rank = pod.cells[static_cast<std::size_t>(row) * static_cast<std::size_t>(pod.columns) +
                                          static_cast<std::size_t>(column)];
      return rank < 0 ? std::nullopt : std::optional(Rank(rank));
    }
  }
  const auto device = device_at(position);
  const std::int32_t rank = device ? rank_of_[device->at()] : -1;
  return rank < 0 ? std::nullopt : std::optional(Rank(rank));
}

std::optional<VertexId> ClusterPicture::device_at(QPointF position) const {
  const auto hit = [&](const std::vector<VertexId>& among) -> std::optional<VertexId> {
    for (const VertexId id : among) {
      if (rects_[id.at()].contains(position)) {
        return id;
      }
    }
    return std::nullopt;
  };
  for (const PodPicture& pod : pods_) {
    if (pod.frame.contains(position)) {
      const auto leaf = hit(pod.leaves);
      return leaf ? leaf : hit(pod.spines);
    }
  }
  const auto above = hit(above_);
  return above ? above : hit(devices_);
}

}  // namespace trainyard::gui
