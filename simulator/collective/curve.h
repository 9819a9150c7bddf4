// The time of a collective against its size: a host floor, dependent hops, wire time, and a fill that saturates.
//
//   t(S) = (H^p + device^p)^(1/p),   device = sum_l D_l (a_l + c_l x_l/(x_l + x0_l)) + w/B
//   w = S F  (F as in busbw, nccl_names.h),   x_l = w/D_l,   busbw = w/t
//
// H: the host's floor, which hides behind a device that takes longer. D: dependent hops at a level (in the node,
// between nodes), each of latency a. The fill c is NCCL's switch of protocols made smooth: below x0 bytes a hop it acts
// as a lower bandwidth (LL, LL128), above as a higher latency (Simple). B comes from facts (wire_bandwidth.h), e scales
// it. Monotone: t grows with S, and falls with B. Fitted to nccl-tests curves: docs/cost_model.md, models/collectives.
#pragma once

#include <array>
#include <optional>
#include <vector>

#include "core/units/quantity.h"

namespace trainyard::simulator {

// Constants of one class (an accelerator's ring, a fabric's tree): seconds and bytes.
struct CurveConstants {
  double floor_s = 0.0;     // H
  double hop_s = 0.0;       // a
  double fill_s = 0.0;      // c
  double fill_bytes = 1.0;  // x0, > 0
  double bandwidth = 1.0;   // e, of the bandwidth by facts
};

struct CurveLevel {
  double hops = 0.0;  // D
  double hop_s = 0.0;
  double fill_s = 0.0;
  double fill_bytes = 1.0;
};

// Everything t(S) needs but S.
struct Curve {
  double floor_s = 0.0;
  double wire_factor = 1.0;  // F
  double bandwidth = 1.0;    // B e, bytes a second, > 0
  double sharpness = 1.0;    // p >= 1
  std::vector<CurveLevel> levels;
  // Forced channels: what they carry with LL, LL128 (from 8 MiB) and Simple (from 128 MiB).
  std::optional<std::array<double, 3>> channel_caps;

  Seconds time(Bytes size) const;
  BytesPerSecond bus_bandwidth(Bytes size) const;
  BytesPerSecond peak() const;

 private:
  double bandwidth_at(double size) const;
};

}  // namespace trainyard::simulator
