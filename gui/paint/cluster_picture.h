// ClusterPicture: where each device of a cluster lies on a plane, for any fabric.
//
// Unit: the cell of one GPU. Hosts that hang on one pod's leaves are a pod: a lattice of GPUs, host by host (or NVLink
// domain by domain) in rank order, its leaves and spines in strips on the side that faces the switches above pods.
// Those lie in a band between two rows of pods. Where pods are joined with each other and nothing lies above them
// (dragonfly, torus) they stand in a ring. What lies inside hosts is placed at its host's GPUs.
//
// A cluster of at most two hosts is drawn whole instead: a row a kind of device, from cores down to NVSwitches.
//
//   pod of a host = Vertex::pod of most of its leaves; without: hosts and leaves joined by cables
#pragma once

#include <QPointF>
#include <QRectF>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/cluster/cluster.h"

namespace trainyard::gui {

// GPUs joined by memory-speed links: a host, or an NVLink domain of several.
struct BlockPicture {
  std::string name;
  int column = 0;  // cells of the pod's lattice
  int row = 0;
  int columns = 0;
  int rows = 0;
};

struct PodPicture {
  std::string name;
  QRectF frame;
  QRectF lattice;
  int columns = 0;
  int rows = 0;
  std::vector<std::int32_t> cells;  // rank by cell, row by row; -1: none
  std::vector<BlockPicture> blocks;
  std::vector<VertexId> leaves;
  std::vector<VertexId> spines;
  std::vector<VertexId> others;  // that pods hold beside: NVSwitches of a rack
  std::vector<LinkId> links;     // inside
  QPointF port;                  // where what joins it to others begins
};

constexpr int kAbove = -1;  // the band of switches above pods, as an end of a trunk

// All links between two pods, or a pod and the band.
struct Trunk {
  int from = kAbove;
  int to = kAbove;
  QPointF begin;
  QPointF end;
  std::vector<LinkId> links;
};

struct CellPlace {
  int pod = 0;
  int column = 0;
  int row = 0;
};

class ClusterPicture {
 public:
  explicit ClusterPicture(const Cluster& cluster);

  const QRectF& bounds() const { return bounds_; }
  const std::vector<PodPicture>& pods() const { return pods_; }
  const std::vector<Trunk>& trunks() const { return trunks_; }
  const std::vector<VertexId>& above() const { return above_; }            // switches in the band
  const std::vector<VertexId>& devices() const { return devices_; }        // drawn whole: all but in pods
  const std::vector<LinkId>& loose_links() const { return loose_links_; }  // between those, and within the band
  bool whole() const { return pods_.empty(); }

  // A switch's or device's box; a GPU's cell. Of what lies inside a host: absent.
  std::optional<QRectF> rect(VertexId vertex) const;
  // Somewhere to end a line at, for every vertex.
  QPointF anchor(VertexId vertex) const { return anchors_[vertex.at()]; }
  const CellPlace* cell(Rank rank) const;  // null outside pods
  QRectF cell_rect(const CellPlace& place) const;
  // Pod of a vertex; kAbove for others.
  int pod_of(VertexId vertex) const { return pod_of_[vertex.at()]; }

  std::optional<Rank> rank_at(QPointF position) const;
  std::optional<VertexId> device_at(QPointF position) const;  // switches and whole devices

 private:
  class Builder;
  std::vector<PodPicture> pods_;
  std::vector<Trunk> trunks_;
  std::vector<VertexId> above_;
  std::vector<VertexId> devices_;
  std::vector<LinkId> loose_links_;
  std::vector<QRectF> rects_;  // by vertex; null where it has none
  std::vector<QPointF> anchors_;
  std::vector<int> pod_of_;
  std::vector<CellPlace> cells_;       // by rank
  std::vector<std::int32_t> rank_of_;  // by vertex; -1
  QRectF bounds_;
};

}  // namespace trainyard::gui
