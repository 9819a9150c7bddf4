// What the links of a generation carry, from data sheets, NCCL's source and plateaus of published curves.
//
// File: models/collectives/links.json ("document": "collective_links"), every number with its source.
#pragma once

#include <array>
#include <optional>
#include <string>

#include "simulator/collective/collective_site.h"
#include "simulator/collective/nccl_names.h"

namespace trainyard::simulator {

struct GenerationLinks {
  BytesPerSecond links;                    // of one GPU, one way, as NCCL counts them
  std::optional<BytesPerSecond> ring;      // of one ring, where rings are counted (cube mesh)
  std::optional<BytesPerSecond> pcie;      // where no ring over NVLink exists
  std::optional<BytesPerSecond> nvls;      // A in B = A 2(n-1)/(n+1)
  std::optional<BytesPerSecond> nvls_cap;  // more ranks don't help beyond it
  int nvls_from = 0;                       // ranks from which NVLS is taken
  double ring_share = 1.0;                 // of the links, in a node's ring
  double pair = 1.0;                       // of the links, between two GPUs alone
};

struct LinkFacts {
  std::array<GenerationLinks, kGpuGenerations> generations;
  std::array<BytesPerSecond, kNcclProtocols> channel;  // a ring channel's rate by protocol, Blackwell
  int channel_limit = 16;                              // channels that add up
  double tree_in_node = 0.8;                           // of the links, by a tree's chain in each of several nodes
  double two_nodes = 2.0;                              // of the NICs' sum, by trees over two nodes
  double three_nodes = 4.0 / 3.0;                      // ... over three
  double sharp = 2.0;                                  // of the NICs' sum, with SHARP
  BytesPerSecond domain_ring;                          // ring over more than two NVLink domains

  const GenerationLinks& of(GpuGeneration generation) const {
    return generations.at(static_cast<std::size_t>(generation));
  }
};

LinkFacts parse_link_facts(const std::string& text, const std::string& where);

}  // namespace trainyard::simulator
