// Line chart as SVG: sizes on a logarithmic axis in powers of two, values on a linear one from zero, a band around each
// line where it has one. Lines are told apart by colour (Okabe and Ito's palette, for colour-blind readers too), dashes
// and a label at their end.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace trainyard::cli {

struct ChartPoint {
  double x = 1.0;  // bytes, > 0
  double y = 0.0;
  double low = 0.0;  // of the band; equal to y without one
  double high = 0.0;
};

struct ChartSeries {
  std::string name;
  std::vector<ChartPoint> points;  // by x
};

struct LineChart {
  std::string title;
  std::string subtitle;
  std::string x_label;
  std::string y_label;
  std::vector<ChartSeries> series;
};

std::string to_svg(const LineChart& chart);

// Text that may stand between tags.
std::string escaped_xml(const std::string& text);

}  // namespace trainyard::cli
