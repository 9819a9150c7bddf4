// CPU time of frames: what a person feels while zooming and panning, whatever else the machine does.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace trainyard::gui {

// The targets of a frame: 60 a second at the median, 30 at worst.
constexpr double kMedianFrameMs = 16.0;
constexpr double kWorstFrameMs = 33.0;

struct FrameTimes {
  std::string name;  // "timeline"
  std::string what;  // "2,000,000 slices in 256 rows"
  std::vector<double> ms;
  double median() const;
  double worst() const;
};

// Zooms and pans of a timeline of so many slices, 256 rows of 3 pixels, 1600x900; 34 pixels with labels beside.
std::vector<FrameTimes> timeline_frames(std::int64_t slices);
// Zooms and pans of a cluster from all of it to single GPUs and back, 1600x900.
std::vector<FrameTimes> topology_frames(const std::string& cluster_spec);

}  // namespace trainyard::gui
