#include "gui/paint/pod_tile.h"

#include <algorithm>

namespace trainyard::gui {

namespace {

QImage image_of(int columns, int rows, const std::vector<TileCell>& cells) {
  QImage image(columns, rows, QImage::Format_ARGB32_Premultiplied);
  for (int y = 0; y < rows; ++y) {
    auto* line = reinterpret_cast<QRgb*>(image.scanLine(y));
    for (int x = 0; x < columns; ++x) {
      line[x] =
          cells[static_cast<std::size_t>(y) * static_cast<std::size_t>(columns) + static_cast<std::size_t>(x)].colour;
    }
  }
  return image;
}

}  // namespace

PodTile::PodTile(int columns, int rows, const std::vector<TileCell>& cells) {
  std::vector<TileCell> level = cells;
  levels_.push_back(image_of(columns, rows, level));
  while (columns > 1 || rows > 1) {
    const int wide = (columns + 1) / 2;
    const int high = (rows + 1) / 2;
    std::vector<TileCell> next(static_cast<std::size_t>(wide) * static_cast<std::size_t>(high));
    for (int y = 0; y < rows; ++y) {
      for (int x = 0; x < columns; ++x) {
        const TileCell& cell =
            level[static_cast<std::size_t>(y) * static_cast<std::size_t>(columns) + static_cast<std::size_t>(x)];
        TileCell& into =
            next[static_cast<std::size_t>(y / 2) * static_cast<std::size_t>(wide) + static_cast<std::size_t>(x / 2)];
        if (qAlpha(cell.colour) != 0 && (qAlpha(into.colour) == 0 || cell.weight > into.weight)) {
          into = cell;
        }
      }
    }
    columns = wide;
    rows = high;
    level = std::move(next);
    levels_.push_back(image_of(columns, rows, level));
  }
}

int PodTile::level_for(double scale) const {
  int level = 0;
  for (double texel = scale; texel < 1.0 && level + 1 < levels(); texel *= 2.0) {
    ++level;
  }
  return level;
}

}  // namespace trainyard::gui
