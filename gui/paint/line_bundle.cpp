#include "gui/paint/line_bundle.h"

#include <algorithm>
#include <array>

namespace trainyard::gui {

std::vector<BundledLine> bundled(const std::vector<BundledLine>& lines, int height) {
  const auto side = static_cast<std::size_t>(height) + 1;
  std::vector<std::uint8_t> strongest(side * side, 0);  // shade + 1 by (from, to)
  const auto at = [&](const BundledLine& line) -> std::uint8_t& {
    return strongest[static_cast<std::size_t>(line.from) * side + static_cast<std::size_t>(line.to)];
  };
  std::array<std::size_t, kLineShades + 1> begins{};
  std::size_t different = 0;
  for (const BundledLine& line : lines) {
    different += at(line) == 0 ? 1 : 0;
    at(line) = std::max(at(line), static_cast<std::uint8_t>(line.shade + 1));
  }
  std::vector<BundledLine> kept;
  kept.reserve(different);
  for (const BundledLine& line : lines) {
    if (std::uint8_t& shade = at(line); shade != 0) {
      kept.push_back({line.from, line.to, static_cast<std::uint8_t>(shade - 1)});
      ++begins.at(shade);  // one further: where the next shade begins
      shade = 0;
    }
  }
  for (std::size_t shade = 1; shade < begins.size(); ++shade) {
    begins.at(shade) += begins.at(shade - 1);
  }
  std::vector<BundledLine> sorted(kept.size());
  for (const BundledLine& line : kept) {
    sorted[begins.at(line.shade)++] = line;
  }
  return sorted;
}

std::vector<std::uint8_t> rasterised(const std::vector<BundledLine>& lines, int width, int height) {
  constexpr int kFraction = 16;
  const auto column = static_cast<std::size_t>(height) + 1;
  std::vector<std::uint8_t> pixels(column * static_cast<std::size_t>(std::max(0, width)), 0);
  for (const BundledLine& line : lines) {
    const int step = (line.to - line.from) * (1 << kFraction) / std::max(1, width);
    int place = line.from * (1 << kFraction) + (1 << (kFraction - 1));
    std::uint8_t* start = pixels.data();
    for (int x = 0; x < width; ++x, start += column) {
      const int here = place >> kFraction;
      place += step;
      const int next = place >> kFraction;
      const int low = std::min(here, next);
      const int high = std::max(here, next);
      for (int y = low; y <= high; ++y) {  // a few: quicker than a call
        start[y] = static_cast<std::uint8_t>(line.shade + 1);
      }
    }
  }
  return pixels;
}

}  // namespace trainyard::gui
