// Theme: colours by what they mean, for light and dark windows.
//
// Categories (causes, kinds, groups) are told apart by colour and by hatch, so that colour-blind readers and prints
// lose nothing: Paul Tol's "bright" scheme, darkened or lightened until it stands out from the background. Amounts
// (load, time) go by a sequential ramp of falling or rising lightness, viridis, whose strong end is far from the
// background in either theme.
#pragma once

#include <QColor>
#include <QPalette>
#include <array>
#include <cstddef>
#include <cstdint>

namespace trainyard::gui {

enum class Hatch : std::uint8_t { kNone, kRising, kFalling, kHorizontal, kVertical, kCrossed, kGrid };
constexpr std::size_t kHatches = 7;

struct Category {
  QColor colour;
  Hatch hatch = Hatch::kNone;
};

constexpr std::size_t kCategoryColours = 7;

// What tells small cells apart, where a hatch has no room: the colour, and a mark inside.
enum class CellMark : std::uint8_t { kNone, kDot, kBar, kFrame };
constexpr std::size_t kCellMarks = 4;

struct CellLook {
  QColor colour;
  CellMark mark = CellMark::kNone;
};

constexpr std::size_t kCellLooks = kCategoryColours * kCellMarks;

struct Theme {
  bool dark = false;
  QColor background;  // of charts
  QColor raised;      // of legends and panels on it
  QColor text;
  QColor muted;      // second in importance: units, hints
  QColor grid;       // lines that only help the eye
  QColor axis;       // lines that mean something
  QColor selection;  // what is selected, in every view
  QColor good;
  QColor warning;
  QColor bad;      // over capacity, failed
  QColor plan_a;   // of a comparison
  QColor plan_b;   // ...
  QColor missing;  // out of the filters: drawn, but pale
  std::array<QColor, kCategoryColours> colours;

  // The index-th of a list; the first 7 differ in colour and in hatch, all of 42 in one of them.
  Category category(std::size_t index) const;
  // Of a cell of the index-th group: 28 differ, in colour even where the mark is too small to see; then again the
  // first.
  CellLook cell(std::size_t index) const;
  // 0: little, 1: most. Outside: clamped.
  QColor ramp(double share) const;
};

Theme light_theme();
Theme dark_theme();
// The one that goes with a widget's palette.
Theme current(const QPalette& palette);

// Of a whole program under the Fusion style.
QPalette light_palette();
QPalette dark_palette();

// Contrast of two colours as WCAG 2 defines it, 1 to 21: text needs 4.5, marks 3.
double contrast(const QColor& a, const QColor& b);
// Black or white, whichever is readable on the colour.
QColor readable_on(const QColor& background);

}  // namespace trainyard::gui
