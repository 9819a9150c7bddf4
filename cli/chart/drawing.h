// Drawing: marks on paper, which become an SVG or a PNG that look alike.
//
// x to the right, y down, in units of a pixel at 96 per inch. Later marks lie on earlier ones; colours are opaque.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

namespace trainyard::cli {

struct Colour {
  std::uint8_t red = 0;
  std::uint8_t green = 0;
  std::uint8_t blue = 0;
};

// The colour at this strength on white.
Colour tint(Colour colour, double strength);

struct Point {
  double x = 0.0;
  double y = 0.0;
};

struct Stroke {
  std::vector<Point> points;
  Colour colour;
  double width = 1.0;
  std::vector<double> dashes;  // on, off, ...; empty: solid
};

struct Fill {
  std::vector<Point> points;  // of a closed polygon
  Colour colour;
};

enum class Anchor : std::uint8_t { kStart, kMiddle, kEnd };

struct Label {
  Point at;  // on the baseline
  std::string text;
  Anchor anchor = Anchor::kStart;
  double size = 13.0;
  bool bold = false;
  bool upwards = false;  // reads from below
  Colour colour;
};

struct Drawing {
  double width = 0.0;
  double height = 0.0;
  std::vector<std::variant<Fill, Stroke, Label>> marks;
};

std::string to_svg(const Drawing& drawing);
// Two pixels a unit, anti-aliased; letters by a font of strokes (stroke_font.h).
std::string to_png(const Drawing& drawing);

}  // namespace trainyard::cli
