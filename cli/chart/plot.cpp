#include "cli/chart/plot.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace trainyard::cli {

namespace {

constexpr double kLeft = 80.0;
constexpr double kRight = 190.0;  // room for the labels at the lines' ends
constexpr double kTop = 66.0;
constexpr double kBottom = 62.0;
constexpr double kLabelGap = 16.0;
constexpr double kStretchHeight = 18.0;
constexpr Colour kGrid = {221, 221, 221};
constexpr Colour kInk = {68, 68, 68};
constexpr std::array<Colour, 12> kColours = {{{0, 114, 178},
                                              {213, 94, 0},
                                              {0, 158, 115},
                                              {204, 121, 167},
                                              {230, 159, 0},
                                              {86, 180, 233},
                                              {0, 0, 0},
                                              {140, 109, 31},
                                              {153, 153, 153},
                                              {102, 51, 153},
                                              {170, 20, 60},
                                              {120, 190, 32}}};

const std::vector<double>& dashes_of(std::size_t index, const std::array<std::vector<double>, 4>& dashes) {
  return dashes.at(index % dashes.size());
}

class Frame {
 public:
  Frame(const Plot& plot, double top, Drawing& drawing)
      : plot_(plot),
        top_(top),
        drawing_(drawing),
        dashes_{std::vector<double>{}, std::vector<double>{7, 4}, std::vector<double>{2, 3},
                std::vector<double>{9, 3, 2, 3}} {}

  void draw() {
    axes();
    stretches();
    for (std::size_t i = 0; i < plot_.series.size(); ++i) {
      band(plot_.series[i], palette(i));
    }
    for (const auto& [value, text] : plot_.marks) {
      stroke({{x(value), top_ + kTop}, {x(value), foot()}}, kInk, 1.0, {3, 3});
      label({x(value) + 5, top_ + kTop + 12}, text, Anchor::kStart);
    }
    for (std::size_t i = 0; i < plot_.series.size(); ++i) {
      stroke(placed(plot_.series[i].points), palette(i), 2.0, dashes_of(i, dashes_));
    }
    names();
  }

 private:
  double foot() const { return top_ + kPlotHeight - kBottom; }

  static double share(const PlotAxis& axis, double value) {
    if (axis.logarithmic) {
      return std::log(value / axis.low) / std::log(axis.high / axis.low);
    }
    return (value - axis.low) / (axis.high - axis.low);
  }
  double x(double value) const { return kLeft + share(plot_.x, value) * (kPlotWidth - kLeft - kRight); }
  double y(double value) const {
    return foot() - std::clamp(share(plot_.y, value), 0.0, 1.0) * (kPlotHeight - kTop - kBottom);
  }

  std::vector<Point> placed(const std::vector<Point>& points) const {
    std::vector<Point> result;
    for (const Point& point : points) {
      result.push_back({x(point.x), y(point.y)});
    }
    return result;
  }

  void stroke(std::vector<Point> points, Colour colour, double width = 1.0, std::vector<double> dashes = {}) {
    drawing_.marks.push_back(Stroke{std::move(points), colour, width, std::move(dashes)});
  }

  void label(Point at, const std::string& text, Anchor anchor, bool upwards = false) {
    drawing_.marks.push_back(Label{.at = at, .text = text, .anchor = anchor, .upwards = upwards, .colour = kInk});
  }

  void axes() {
    drawing_.marks.push_back(Label{.at = {kLeft, top_ + 26}, .text = plot_.title, .size = 16.0, .bold = true});
    label({kLeft, top_ + 46}, plot_.subtitle, Anchor::kStart);
    for (const auto& [value, text] : plot_.y.ticks) {
      stroke({{kLeft, y(value)}, {kPlotWidth - kRight, y(value)}}, kGrid);
      label({kLeft - 8, y(value) + 4}, text, Anchor::kEnd);
    }
    for (const auto& [value, text] : plot_.x.ticks) {
      stroke({{x(value), foot()}, {x(value), foot() + 5}}, kInk);
      label({x(value), foot() + 20}, text, Anchor::kMiddle);
    }
    stroke({{kLeft, top_ + kTop}, {kLeft, foot()}, {kPlotWidth - kRight, foot()}}, kInk);
    label({(kLeft + kPlotWidth - kRight) / 2, foot() + 44}, plot_.x.label, Anchor::kMiddle);
    label({22, (top_ + kTop + foot()) / 2}, plot_.y.label, Anchor::kMiddle, true);
  }

  void stretches() {
    for (const PlotStretch& stretch : plot_.stretches) {
      const double from = x(stretch.from);
      const double to = std::max(x(stretch.to), from + 0.4);
      drawing_.marks.push_back(
          Fill{{{from, foot() - kStretchHeight}, {to, foot() - kStretchHeight}, {to, foot()}, {from, foot()}},
               stretch.colour});
    }
    double at = foot() - kLabelGap * static_cast<double>(plot_.legend.size()) + 12;
    for (const auto& [text, colour] : plot_.legend) {
      const double left = kPlotWidth - kRight + 12;
      drawing_.marks.push_back(
          Fill{{{left, at - 9}, {left + 14, at - 9}, {left + 14, at + 1}, {left, at + 1}}, colour});
      label({left + 20, at}, text, Anchor::kStart);
      at += kLabelGap;
    }
  }

  void band(const PlotSeries& series, Colour colour) {
    if (series.band.size() != series.points.size() || series.points.size() < 2) {
      return;
    }
    std::vector<Point> around;
    for (std::size_t i = 0; i < series.points.size(); ++i) {
      around.push_back({x(series.points[i].x), y(series.band[i].second)});
    }
    for (std::size_t i = series.points.size(); i-- > 0;) {
      around.push_back({x(series.points[i].x), y(series.band[i].first)});
    }
    drawing_.marks.push_back(Fill{std::move(around), tint(colour, 0.18)});
  }

  // Beside the lines' ends, pushed apart where they would meet.
  void names() {
    std::vector<std::pair<double, std::size_t>> ends;
    for (std::size_t i = 0; i < plot_.series.size(); ++i) {
      if (!plot_.series[i].points.empty() && !plot_.series[i].name.empty()) {
        ends.emplace_back(y(plot_.series[i].points.back().y), i);
      }
    }
    std::ranges::sort(ends);
    double next = -INFINITY;
    for (const auto& [wanted, i] : ends) {
      const double at = std::max(wanted, next);
      const double left = kPlotWidth - kRight + 8;
      stroke({{left, at}, {left + 22, at}}, palette(i), 2.0, dashes_of(i, dashes_));
      label({left + 28, at + 4}, plot_.series[i].name, Anchor::kStart);
      next = at + kLabelGap;
    }
  }

  const Plot& plot_;
  double top_;
  Drawing& drawing_;
  std::array<std::vector<double>, 4> dashes_;
};

}  // namespace

Colour palette(std::size_t index) { return kColours.at(index % kColours.size()); }

void draw(const Plot& plot, double top, Drawing& drawing) { Frame(plot, top, drawing).draw(); }

std::vector<std::pair<double, std::string>> linear_ticks(double low, double high, double scale, const char* suffix) {
  const double rough = (high - low) / 6.0;
  const double power = std::pow(10.0, std::floor(std::log10(rough)));
  double step = 10.0 * power;
  for (const double factor : {5.0, 2.0, 1.0}) {
    step = rough <= factor * power ? factor * power : step;
  }
  std::vector<std::pair<double, std::string>> ticks;
  for (double at = std::ceil(low / step - 1e-9) * step; at <= high + 1e-9 * step; at += step) {
    ticks.emplace_back(at, fmt::format("{:g}{}", std::round(at * scale * 1e6) / 1e6 + 0.0, suffix));
  }
  return ticks;
}

}  // namespace trainyard::cli
