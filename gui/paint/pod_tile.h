// PodTile: a lattice of coloured cells as pictures, one texel a cell and coarser.
//
//   level 0      a texel a cell
//   level l + 1  a texel for 2 x 2 of level l: the colour of the worst of them
//
// The worst, never a mean or a sample: one hot GPU of thousands is seen from any distance.
#pragma once

#include <QImage>
#include <cstdint>
#include <vector>

namespace trainyard::gui {

struct TileCell {
  QRgb colour = 0;      // transparent: no GPU there
  float weight = 0.0F;  // of equal ones the first counts
};

class PodTile {
 public:
  PodTile() = default;
  PodTile(int columns, int rows, const std::vector<TileCell>& cells);

  int levels() const { return static_cast<int>(levels_.size()); }
  const QImage& image(int level) const { return levels_[static_cast<std::size_t>(level)]; }
  // The finest whose texels are at least a pixel wide, at so many pixels a cell.
  int level_for(double scale) const;

 private:
  std::vector<QImage> levels_;
};

}  // namespace trainyard::gui
