// The numbers of NCCL's tuning model: microseconds, and GB/s of 1e9 bytes.
//
// Source: NVIDIA/nccl 2.30.7 (commit 5067397) src/graph/tuning.cc, topo.h, search.cc.
#pragma once

#include <array>
#include <cstddef>
#include <span>

#include "simulator/collective/collective_site.h"

namespace trainyard::simulator::nccl {

using ByProtocol = std::array<double, 3>;  // LL, LL128, Simple
using ByNodes = std::array<double, 3>;     // 1, 2, more nodes

inline constexpr ByProtocol kTreeBase = {6.8, 14.0, 8.4};
inline constexpr ByProtocol kRingBase = {6.6, 14.0, 8.4};
inline constexpr double kPatBase = 8.0;

struct HopLatency {
  ByProtocol tree;
  ByProtocol ring;
  double collnet_direct;
  double collnet_chain;
  double nvls;
  double nvls_tree;
  double pat;
};
inline constexpr HopLatency kNvlinkHop = {{0.6, 1.25, 4.0}, {0.6, 1.9, 3.4}, 3.7, 2.8, 25.0, 25.0, 4.0};
inline constexpr HopLatency kPcieHop = {{1.0, 1.9, 4.0}, {1.0, 2.5, 5.7}, 3.7, 2.8, 0.0, 0.0, 4.0};
inline constexpr HopLatency kNetworkHop = {{5.0, 8.5, 14.0}, {2.7, 4.0, 14.0}, 31.0, 30.0, 18.0, 20.9, 14.0};

// Rows by generation: Volta, Ampere, Hopper, Blackwell.
constexpr std::size_t generation_row(GpuGeneration generation) {
  switch (generation) {
    case GpuGeneration::kVolta:
      return 0;
    case GpuGeneration::kAmpere:
      return 1;
    case GpuGeneration::kBlackwell:
      return 3;
    default:
      return 2;
  }
}
inline constexpr std::array<ByNodes, 4> kLlBus = {
    {{39.0, 39.0, 20.4}, {87.7, 22.5, 19.0}, {141.0, 45.0, 35.0}, {282.0, 90.0, 70.0}}};
inline constexpr std::array<double, 4> kRingLl128Channel = {20.0, 20.0, 36.7, 40.0};
inline constexpr std::array<ByNodes, 4> kTreeLl128Channel = {
    {{20.0, 20.0, 20.0}, {20.0, 20.0, 20.0}, {36.7, 36.7, 29.0}, {55.6, 31.67, 20.0}}};
inline constexpr std::array<ByNodes, 4> kTreeChannel = {
    {{26.5, 18.5, 10.0}, {24.0, 23.6, 17.8}, {38.7, 41.4, 36.0}, {70.0, 42.8, 24.0}}};
inline constexpr std::array<ByNodes, 4> kNvlsTreeChannel = {
    {{0.0, 0.0, 0.0}, {0.0, 0.0, 0.0}, {0.0, 57.7, 45.5}, {0.0, 96.0, 80.0}}};
inline constexpr std::array<double, 4> kNvlsEfficiency = {0.0, 0.0, 0.85, 0.74};

// Tree bandwidth by log2(bytes / 64), where that is under 23.
inline constexpr std::size_t kTreeFactors = 23;
inline constexpr std::array<std::array<double, kTreeFactors>, 3> kTreeFactor = {
    {{1.0, 1.0, 1.0, 1.0, 0.9, 0.8, 0.7, 0.7, 0.7, 0.7, 0.6, 0.5,
      0.4, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.0, 1.0, 1.0},
     {1.0, 1.0, 1.0, 1.0, 1.0, 0.9, 0.8, 0.8, 0.8, 0.7, 0.6, 0.6,
      0.6, 0.6, 0.6, 0.6, 0.8, 0.9, 0.9, 0.9, 0.9, 1.0, 1.0},
     {0.9, 0.9, 0.9, 0.9, 0.9, 0.9, 0.9, 0.8, 0.7, 0.6, 0.6, 0.5,
      0.5, 0.5, 0.5, 0.6, 0.7, 0.8, 0.7, 0.7, 0.8, 0.9, 0.9}}};

// Speeds a channel may have, tried in this order.
inline constexpr std::array kHopperIntra = {60.0, 50.0, 40.0, 30.0, 24.0, 20.0, 15.0, 12.0, 11.0, 6.0, 3.0};
inline constexpr std::array kHopperInter = {48.0, 45.0, 42.0, 40.0, 30.0, 24.0, 22.0, 20.0, 17.5, 15.0, 12.0, 6.0, 3.0};
inline constexpr std::array kBlackwellIntra = {90.0, 80.0, 70.0, 60.0, 50.0, 40.0, 30.0, 24.0, 20.0, 19.0, 18.0};
inline constexpr std::array kBlackwellInter = {96.0, 86.0, 80.0, 48.0, 45.1, 42.0, 40.0, 30.0,
                                               24.0, 22.0, 20.0, 17.5, 15.0, 12.0, 6.0,  3.0};
inline constexpr std::array kOlderIntra = {40.0, 30.0, 20.0, 18.0, 15.0, 12.0, 10.0, 9.0, 7.0, 6.0, 5.0, 4.0, 3.0};
inline constexpr std::array kOlderInter = {48.0, 30.0, 28.0, 24.0, 20.0, 18.0, 15.0, 12.0, 10.0, 9.0,
                                           7.0,  6.0,  5.0,  4.0,  3.0,  2.4,  1.2,  0.24, 0.12};
inline constexpr int kMostChannels = 64;

// Bytes a thread needs before another channel pays, and threads of a channel.
inline constexpr ByProtocol kThreadThreshold = {8.0, 8.0, 64.0};
inline constexpr ByProtocol kThreads = {512.0, 640.0, 512.0};

}  // namespace trainyard::simulator::nccl
