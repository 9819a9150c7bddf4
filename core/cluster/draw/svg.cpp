// The drawing as SVG: rows from the top down, names of rows on the left, what they carry on the right.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <set>

#include "core/cluster/draw/folded.h"
#include "core/units/format_quantity.h"

namespace trainyard {

namespace {

constexpr double kLeft = 110.0;   // room for the names of rows
constexpr double kRight = 250.0;  // and for their notes
constexpr double kTop = 60.0;
constexpr double kRowHeight = 120.0;
constexpr double kBoxHeight = 40.0;
constexpr double kColumn = 96.0;
constexpr double kLetter = 6.3;  // width of a letter at 11 px, on average

struct Colour {
  const char* line;
  const char* fill;
};

Colour colour_of(VertexKind kind) {
  switch (kind) {
    case VertexKind::kCore:
      return {"#8a4a78", "#f3dfec"};
    case VertexKind::kSpine:
      return {"#00507d", "#d3e7f4"};
    case VertexKind::kLeaf:
      return {"#2d7fb0", "#e6f3fb"};
    case VertexKind::kNic:
      return {"#9a6a00", "#fbeccb"};
    case VertexKind::kPcieSwitch:
    case VertexKind::kCpu:
      return {"#666666", "#eeeeee"};
    case VertexKind::kNvswitch:
      return {"#00694c", "#cdeee3"};
    default:
      return {"#a34300", "#fbe0d0"};
  }
}

const char* colour_of(LinkKind kind) {
  switch (kind) {
    case LinkKind::kCable:
      return "#0072b2";
    case LinkKind::kNvlink:
    case LinkKind::kXgmi:
      return "#009e73";
    case LinkKind::kC2c:
      return "#d55e00";
    case LinkKind::kPcie:
      return "#b98200";
    default:
      return "#777777";
  }
}

std::string escaped(const std::string& text) {
  std::string result;
  for (const char letter : text) {
    switch (letter) {
      case '&':
        result += "&amp;";
        break;
      case '<':
        result += "&lt;";
        break;
      case '>':
        result += "&gt;";
        break;
      case '"':
        result += "&quot;";
        break;
      default:
        result += static_cast<unsigned char>(letter) < 0x20 ? ' ' : letter;
    }
  }
  return result;
}

// Text that fits a width: the end is cut, as the full name is in the tooltip.
std::string fitting(const std::string& text, double width) {
  const std::size_t letters = static_cast<std::size_t>(std::max(3.0, width / kLetter));
  return text.size() <= letters ? text : text.substr(0, letters - 2) + "..";
}

class SvgWriter {
 public:
  explicit SvgWriter(const FoldedCluster& folded)
      : folded_(folded), width_(std::max(480.0, kColumn * static_cast<double>(folded.columns))) {}

  std::string write() {
    const double height = kTop + kRowHeight * static_cast<double>(folded_.rows.size()) + 30.0;
    text_ = fmt::format(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0:.0f}\" height=\"{1:.0f}\" viewBox=\"0 0 {0:.0f} "
        "{1:.0f}\" "
        "font-family=\"DejaVu Sans, Helvetica, Arial, sans-serif\" font-size=\"11\">\n"
        "<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n"
        "<text x=\"20\" y=\"28\" font-size=\"16\" font-weight=\"bold\" fill=\"#222222\">{2}</text>\n",
        kLeft + width_ + kRight, height, escaped(folded_.title));
    draw_frames();
    for (const Wire& wire : folded_.wires) {
      draw(wire);
    }
    for (const Box& box : folded_.boxes) {
      draw(box);
    }
    draw_rows();
    draw_legend(height - 12.0);
    return text_ + "</svg>\n";
  }

 private:
  double x(double share) const { return kLeft + share * width_; }
  double middle(std::size_t row) const { return kTop + kRowHeight * (static_cast<double>(row) + 0.5); }
  // CPUs stand between the columns of GPUs and PCIe switches, whose wires pass beside them.
  double box_width(const Box& box) const {
    return std::min(box.width * width_ - 8.0, box.kind == VertexKind::kCpu ? 60.0 : 200.0);
  }

  void label(double left, double y, const char* anchor, const std::string& text, const char* more = "") {
    text_ += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\" fill=\"#222222\"{}>{}</text>\n", left, y,
                         anchor, more, escaped(text));
  }

  void draw_frames() {
    if (folded_.hosts.empty()) {
      return;
    }
    const double top = middle(folded_.first_inside_row) - kRowHeight / 2.0 + 8.0;
    const double bottom = middle(folded_.rows.size() - 1) + kRowHeight / 2.0 - 12.0;
    for (const HostFrame& host : folded_.hosts) {
      text_ += fmt::format(
          "<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" rx=\"8\" fill=\"#fafafa\" "
          "stroke=\"#bbbbbb\"/>\n",
          x(host.left), top, (host.right - host.left) * width_, bottom - top);
      label(x(host.left) + 8.0, bottom - 8.0, "start", host.name, " font-weight=\"bold\"");
    }
  }

  void draw(const Wire& wire) {
    const Box& a = folded_.boxes[wire.from];
    const Box& b = folded_.boxes[wire.to];
    const double thickness = 0.8 + 0.45 * std::log2(static_cast<double>(wire.links));
    const double xa = x(a.centre);
    const double xb = x(b.centre);
    std::string path;
    if (a.row == b.row) {
      // Over the boxes in between.
      const double y = middle(a.row) - kBoxHeight / 2.0;
      const double rise = std::min(36.0, 12.0 + std::abs(xb - xa) * 0.06);
      path = fmt::format("M{:.1f} {:.1f}C{:.1f} {:.1f} {:.1f} {:.1f} {:.1f} {:.1f}", xa, y, xa, y - rise, xb, y - rise,
                         xb, y);
    } else {
      const Box& upper = a.row < b.row ? a : b;
      const Box& lower = a.row < b.row ? b : a;
      path = fmt::format("M{:.1f} {:.1f}L{:.1f} {:.1f}", x(upper.centre), middle(upper.row) + kBoxHeight / 2.0,
                         x(lower.centre), middle(lower.row) - kBoxHeight / 2.0);
    }
    text_ += fmt::format(
        "<path d=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"{:.1f}\" stroke-opacity=\"0.55\"><title>{} - {}: {} "
        "x "
        "{}, {}</title></path>\n",
        path, colour_of(wire.kind), thickness, escaped(a.name), escaped(b.name), wire.links, to_string(wire.kind),
        format_quantity(wire.bandwidth));
  }

  void draw(const Box& box) {
    const double width = box_width(box);
    const double left = x(box.centre) - width / 2.0;
    const double top = middle(box.row) - kBoxHeight / 2.0;
    const Colour colour = colour_of(box.kind);
    text_ += fmt::format(
        "<g><title>{}{}{}</title><rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" rx=\"5\" "
        "fill=\"{}\" stroke=\"{}\"/>\n",
        escaped(box.name), box.detail.empty() ? "" : ": ", escaped(box.detail), left, top, width, kBoxHeight,
        colour.fill, colour.line);
    std::string first = box.name;
    std::string second = box.detail;
    const std::size_t slash = first.rfind('/');
    if (second.empty() && slash != std::string::npos && kLetter * static_cast<double>(first.size()) > width - 6.0) {
      second = first.substr(slash + 1);
      first.resize(slash);
    }
    if (second.empty()) {
      label(x(box.centre), top + 24.0, "middle", fitting(first, width - 6.0));
    } else {
      label(x(box.centre), top + 17.0, "middle", fitting(first, width - 6.0));
      label(x(box.centre), top + 32.0, "middle", fitting(second, width - 6.0));
    }
    text_ += "</g>\n";
  }

  void draw_rows() {
    for (std::size_t row = 0; row < folded_.rows.size(); ++row) {
      label(20.0, middle(row) + 4.0, "start", folded_.rows[row].name, " font-weight=\"bold\"");
      const std::vector<std::string>& notes = folded_.rows[row].notes;
      double y = middle(row) + 4.0 - 7.5 * (static_cast<double>(notes.size()) - 1.0);
      for (const std::string& note : notes) {
        label(kLeft + width_ + 12.0, y, "start", fitting(note, kRight - 20.0));
        y += 15.0;
      }
    }
  }

  void draw_legend(double y) {
    std::set<LinkKind> kinds;
    for (const Wire& wire : folded_.wires) {
      kinds.insert(wire.kind);
    }
    double left = 20.0;
    for (const LinkKind kind : kinds) {
      text_ += fmt::format("<path d=\"M{:.0f} {:.0f}h24\" stroke=\"{}\" stroke-width=\"3\"/>\n", left, y - 4.0,
                           colour_of(kind));
      const std::string name(to_string(kind));
      label(left + 30.0, y, "start", name);
      left += 50.0 + kLetter * static_cast<double>(name.size());
    }
    label(left, y, "start", "thicker: more links side by side");
  }

  const FoldedCluster& folded_;
  double width_;
  std::string text_;
};

}  // namespace

std::string to_svg(const FoldedCluster& folded) { return SvgWriter(folded).write(); }

}  // namespace trainyard
