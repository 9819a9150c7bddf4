#include <fmt/format.h>

#include <array>
#include <string_view>

#include "cli/chart/drawing.h"
#include "cli/chart/line_chart.h"

namespace trainyard::cli {

namespace {

std::string hex(Colour colour) { return fmt::format("#{:02x}{:02x}{:02x}", colour.red, colour.green, colour.blue); }

std::string points_text(const std::vector<Point>& points) {
  std::string text;
  for (const Point& point : points) {
    text += fmt::format("{}{:.1f},{:.1f}", text.empty() ? "" : " ", point.x, point.y);
  }
  return text;
}

struct ToSvg {
  std::string operator()(const Fill& fill) const {
    return fmt::format("<polygon points=\"{}\" fill=\"{}\"/>\n", points_text(fill.points), hex(fill.colour));
  }

  std::string operator()(const Stroke& stroke) const {
    std::string dashes;
    for (const double length : stroke.dashes) {
      dashes += fmt::format("{}{:g}", dashes.empty() ? " stroke-dasharray=\"" : " ", length);
    }
    return fmt::format("<polyline points=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"{:g}\"{}{}/>\n",
                       points_text(stroke.points), hex(stroke.colour), stroke.width, dashes,
                       dashes.empty() ? "" : "\"");
  }

  std::string operator()(const Label& label) const {
    constexpr std::array<std::string_view, 3> kAnchors = {"start", "middle", "end"};
    const std::string turned =
        label.upwards ? fmt::format(" transform=\"rotate(-90 {:.1f} {:.1f})\"", label.at.x, label.at.y) : "";
    return fmt::format(
        "<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\" font-size=\"{:g}\" fill=\"{}\"{}{}>{}</text>\n", label.at.x,
        label.at.y, kAnchors.at(static_cast<std::size_t>(label.anchor)), label.size, hex(label.colour),
        label.bold ? " font-weight=\"bold\"" : "", turned, escaped_xml(label.text));
  }
};

}  // namespace

Colour tint(Colour colour, double strength) {
  const auto mixed = [strength](std::uint8_t part) {
    return static_cast<std::uint8_t>(255.0 - strength * (255.0 - static_cast<double>(part)));
  };
  return {mixed(colour.red), mixed(colour.green), mixed(colour.blue)};
}

std::string to_svg(const Drawing& drawing) {
  std::string svg = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0:g}\" height=\"{1:g}\" viewBox=\"0 0 {0:g} {1:g}\" "
      "font-family=\"sans-serif\">\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n",
      drawing.width, drawing.height);
  for (const auto& mark : drawing.marks) {
    svg += std::visit(ToSvg(), mark);
  }
  return svg + "</svg>\n";
}

}  // namespace trainyard::cli
