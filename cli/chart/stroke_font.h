// Letters as strokes, for pictures without a font file: ASCII, on a grid of 6 by 10 with the baseline at 2 and capitals
// up to 8. Our own drawing.
#pragma once

#include <string_view>
#include <vector>

#include "cli/chart/drawing.h"

namespace trainyard::cli {

// Lines of one letter on the grid, y upwards; of '?' for what isn't printable ASCII.
std::vector<std::vector<Point>> letter_strokes(char letter);

constexpr double kLetterAdvance = 6.0;
constexpr double kLetterBaseline = 2.0;
constexpr double kCapitalHeight = 6.0;  // above the baseline

}  // namespace trainyard::cli
