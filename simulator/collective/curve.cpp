#include "simulator/collective/curve.h"

#include <algorithm>
#include <cmath>

namespace trainyard::simulator {

namespace {

// Where NCCL 2.29 changes protocol on the system the channel rates are from.
constexpr double kLl128From = 0x1p23;
constexpr double kSimpleFrom = 0x1p27;

}  // namespace

double Curve::bandwidth_at(double size) const {
  if (!channel_caps) {
    return bandwidth;
  }
  const std::size_t protocol = size < kLl128From ? 0 : size < kSimpleFrom ? 1 : 2;
  return std::min(bandwidth, channel_caps->at(protocol));
}

BytesPerSecond Curve::peak() const {
  return from_si<BytesPerSecond>(channel_caps ? std::min(bandwidth, channel_caps->back()) : bandwidth);
}

Seconds Curve::time(Bytes size) const {
  const double wire = size.si() * wire_factor;
  double device = wire / bandwidth_at(size.si());
  for (const CurveLevel& level : levels) {
    if (level.hops > 0.0) {
      const double per_hop = wire / level.hops;
      device += level.hops * (level.hop_s + level.fill_s * per_hop / (per_hop + level.fill_bytes));
    }
  }
  if (device <= 0.0 || floor_s <= 0.0) {
    return from_si<Seconds>(device + floor_s);
  }
  // The larger one outside the power, so that nothing overflows or vanishes.
  const double larger = std::max(device, floor_s);
  const double ratio = std::min(device, floor_s) / larger;
  return from_si<Seconds>(larger * std::pow(1.0 + std::pow(ratio, sharpness), 1.0 / sharpness));
}

BytesPerSecond Curve::bus_bandwidth(Bytes size) const { return size * wire_factor / time(size); }

}  // namespace trainyard::simulator
