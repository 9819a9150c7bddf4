// LineBundle: the different lines among many between two neighbouring axes, in pixels. Layouts share degrees, so that
// ten thousand of them are some hundred lines between two degrees. Of equal ones the strongest shade is kept, and the
// strongest are painted last: what is best isn't painted over.
#pragma once

#include <cstdint>
#include <vector>

namespace trainyard::gui {

constexpr int kLineShades = 24;

struct BundledLine {
  std::int16_t from = 0;  // pixels below the axes' top
  std::int16_t to = 0;
  std::uint8_t shade = 0;  // below kLineShades
  friend bool operator==(const BundledLine&, const BundledLine&) = default;
};

// Weakest shade first. height: ends lie in [0, height]. O(lines + height^2).
std::vector<BundledLine> bundled(const std::vector<BundledLine>& lines, int height);

// The lines over columns 0 to width - 1, each an upright run of pixels that joins its neighbours': shade + 1 at
// [x * (height + 1) + y], 0 where none is. Some 50 times as quick as a painter, for thousands of lines.
std::vector<std::uint8_t> rasterised(const std::vector<BundledLine>& lines, int width, int height);

}  // namespace trainyard::gui
