#include "cli/chart/line_chart.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

#include "core/units/format_quantity.h"

namespace trainyard::cli {

namespace {

constexpr double kWidth = 900.0;
constexpr double kHeight = 520.0;
constexpr double kLeft = 80.0;
constexpr double kRight = 190.0;  // room for the labels at the lines' ends
constexpr double kTop = 70.0;
constexpr double kBottom = 65.0;
constexpr double kLabelGap = 16.0;
constexpr std::array<const char*, 8> kColours = {"#0072B2", "#D55E00", "#009E73", "#CC79A7",
                                                 "#E69F00", "#56B4E9", "#000000", "#8C6D1F"};
constexpr std::array<const char*, 4> kDashes = {"none", "7 4", "2 3", "9 3 2 3"};

struct Scale {
  double low_exponent = 0.0;  // of two
  double high_exponent = 1.0;
  double top = 1.0;
  double tick = 1.0;

  double x(double value) const {
    const double share = (std::log2(value) - low_exponent) / (high_exponent - low_exponent);
    return kLeft + share * (kWidth - kLeft - kRight);
  }
  double y(double value) const { return kHeight - kBottom - value / top * (kHeight - kTop - kBottom); }
};

// 1, 2 or 5 times a power of ten, about a sixth of the range.
double nice_tick(double range) {
  const double rough = range / 6.0;
  const double power = std::pow(10.0, std::floor(std::log10(rough)));
  for (const double step : {1.0, 2.0, 5.0}) {
    if (rough <= step * power) {
      return step * power;
    }
  }
  return 10.0 * power;
}

Scale scale_of(const LineChart& chart) {
  Scale scale;
  double least = INFINITY;
  double most = 0.0;
  double top = 0.0;
  for (const ChartSeries& series : chart.series) {
    for (const ChartPoint& point : series.points) {
      least = std::min(least, point.x);
      most = std::max(most, point.x);
      top = std::max({top, point.y, point.high});
    }
  }
  if (most <= 0.0) {
    return scale;
  }
  scale.low_exponent = std::floor(std::log2(least));
  scale.high_exponent = std::max(std::ceil(std::log2(most)), scale.low_exponent + 1.0);
  scale.tick = nice_tick(top > 0.0 ? top : 1.0);
  scale.top = scale.tick * std::ceil((top > 0.0 ? top : 1.0) / scale.tick);
  return scale;
}

std::string text_at(double x, double y, std::string_view anchor, const std::string& text, std::string_view more = {}) {
  return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\"{}>{}</text>\n", x, y, anchor, more,
                     escaped_xml(text));
}

std::string frame(const LineChart& chart, const Scale& scale) {
  std::string svg = text_at(kLeft, 28, "start", chart.title, " font-size=\"16\" font-weight=\"bold\"");
  svg += text_at(kLeft, 48, "start", chart.subtitle, " fill=\"#444\"");
  for (double value = 0.0; value <= scale.top * 1.0001; value += scale.tick) {
    const double y = scale.y(value);
    svg += fmt::format("<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" stroke=\"#ddd\"/>\n", kLeft, y,
                       kWidth - kRight, y);
    svg += text_at(kLeft - 8, y + 4, "end", fmt::format("{:g}", value));
  }
  const double exponents = scale.high_exponent - scale.low_exponent;
  const double step = std::max(1.0, std::ceil(exponents / 9.0));
  for (double e = scale.low_exponent; e <= scale.high_exponent; e += step) {
    const double x = scale.x(std::exp2(e));
    svg += fmt::format("<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" stroke=\"#444\"/>\n", x,
                       kHeight - kBottom, x, kHeight - kBottom + 5);
    svg += text_at(x, kHeight - kBottom + 20, "middle", format_quantity(from_si<Bytes>(std::exp2(e))));
  }
  svg += fmt::format("<path d=\"M{0:.1f} {1:.1f}V{2:.1f}H{3:.1f}\" fill=\"none\" stroke=\"#444\"/>\n", kLeft, kTop,
                     kHeight - kBottom, kWidth - kRight);
  svg += text_at((kLeft + kWidth - kRight) / 2, kHeight - 18, "middle", chart.x_label);
  const double middle = (kTop + kHeight - kBottom) / 2;
  svg += text_at(22, middle, "middle", chart.y_label, fmt::format(" transform=\"rotate(-90 22 {:.1f})\"", middle));
  return svg;
}

std::string band(const ChartSeries& series, const Scale& scale, const char* colour) {
  const bool any = std::any_of(series.points.begin(), series.points.end(),
                               [](const ChartPoint& point) { return point.low < point.high; });
  if (!any || series.points.size() < 2) {
    return {};
  }
  std::string path = "M";
  for (const ChartPoint& point : series.points) {
    path += fmt::format("{:.1f} {:.1f} ", scale.x(point.x), scale.y(point.high));
  }
  for (auto point = series.points.rbegin(); point != series.points.rend(); ++point) {
    path += fmt::format("{:.1f} {:.1f} ", scale.x(point->x), scale.y(point->low));
  }
  return fmt::format("<path d=\"{}Z\" fill=\"{}\" fill-opacity=\"0.15\" stroke=\"none\"/>\n", path, colour);
}

std::string line(const ChartSeries& series, const Scale& scale, const char* colour, const char* dash) {
  std::string points;
  std::string marks;
  for (const ChartPoint& point : series.points) {
    const double x = scale.x(point.x);
    const double y = scale.y(point.y);
    points += fmt::format("{:.1f},{:.1f} ", x, y);
    marks += fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"2.5\" fill=\"{}\"/>\n", x, y, colour);
  }
  return fmt::format(
             "<polyline points=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"2\" stroke-dasharray=\"{}\"/>\n",
             points, colour, dash) +
         marks;
}

// Names beside the lines' ends, pushed apart where they would meet.
std::string labels(const LineChart& chart, const Scale& scale) {
  struct Label {
    double y;
    std::size_t series;
  };
  std::vector<Label> placed;
  for (std::size_t i = 0; i < chart.series.size(); ++i) {
    if (!chart.series[i].points.empty()) {
      placed.push_back({scale.y(chart.series[i].points.back().y), i});
    }
  }
  std::stable_sort(placed.begin(), placed.end(), [](const Label& a, const Label& b) { return a.y < b.y; });
  for (std::size_t i = 1; i < placed.size(); ++i) {
    placed[i].y = std::max(placed[i].y, placed[i - 1].y + kLabelGap);
  }
  for (std::size_t i = placed.size(); i-- > 0;) {
    const double lowest = kHeight - kBottom - kLabelGap * static_cast<double>(placed.size() - 1 - i);
    placed[i].y = std::min(placed[i].y, lowest);
  }
  std::string svg;
  for (const Label& label : placed) {
    const ChartSeries& series = chart.series[label.series];
    svg += fmt::format(
        "<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" stroke=\"{}\" stroke-width=\"2\" "
        "stroke-dasharray=\"{}\"/>\n",
        kWidth - kRight + 8, label.y, kWidth - kRight + 32, label.y, kColours[label.series % kColours.size()],
        kDashes[label.series % kDashes.size()]);
    svg += text_at(kWidth - kRight + 38, label.y + 4, "start", series.name);
  }
  return svg;
}

}  // namespace

std::string escaped_xml(const std::string& text) {
  std::string escaped;
  for (const char c : text) {
    switch (c) {
      case '&':
        escaped += "&amp;";
        break;
      case '<':
        escaped += "&lt;";
        break;
      case '>':
        escaped += "&gt;";
        break;
      case '"':
        escaped += "&quot;";
        break;
      default:
        escaped += c;
    }
  }
  return escaped;
}

std::string to_svg(const LineChart& chart) {
  const Scale scale = scale_of(chart);
  std::string svg = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0:g}\" height=\"{1:g}\" viewBox=\"0 0 {0:g} {1:g}\" "
      "font-family=\"sans-serif\" font-size=\"13\">\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n",
      kWidth, kHeight);
  svg += frame(chart, scale);
  for (std::size_t i = 0; i < chart.series.size(); ++i) {
    svg += band(chart.series[i], scale, kColours[i % kColours.size()]);
  }
  for (std::size_t i = 0; i < chart.series.size(); ++i) {
    svg += line(chart.series[i], scale, kColours[i % kColours.size()], kDashes[i % kDashes.size()]);
  }
  return svg + labels(chart, scale) + "</svg>\n";
}

}  // namespace trainyard::cli
