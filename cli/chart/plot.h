// Plot: lines on two axes, as marks of a drawing. Lines are told apart by colour (Okabe and Ito's palette, for
// colour-blind readers too), dashes and a label at their end.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/chart/drawing.h"

namespace trainyard::cli {

constexpr double kPlotWidth = 900.0;
constexpr double kPlotHeight = 420.0;

Colour palette(std::size_t index);

struct PlotAxis {
  std::string label;
  double low = 0.0;
  double high = 1.0;
  bool logarithmic = false;
  std::vector<std::pair<double, std::string>> ticks;
};

struct PlotSeries {
  std::string name;
  std::vector<Point> points;                    // by x
  std::vector<std::pair<double, double>> band;  // low and high at each point; empty: none
};

// A stretch of the x axis, coloured along its foot.
struct PlotStretch {
  double from = 0.0;
  double to = 0.0;
  Colour colour;
};

struct Plot {
  std::string title;
  std::string subtitle;
  PlotAxis x;
  PlotAxis y;
  std::vector<PlotSeries> series;
  std::vector<std::pair<double, std::string>> marks;  // of the x axis, with a vertical line
  std::vector<PlotStretch> stretches;
  std::vector<std::pair<std::string, Colour>> legend;  // of the stretches
};

// kPlotWidth by kPlotHeight, from `top` down.
void draw(const Plot& plot, double top, Drawing& drawing);

// 0, 20 %, ... of a range: 1, 2 or 5 times a power of ten apart.
std::vector<std::pair<double, std::string>> linear_ticks(double low, double high, double scale, const char* suffix);

}  // namespace trainyard::cli
