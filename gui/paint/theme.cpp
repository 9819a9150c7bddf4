#include "gui/paint/theme.h"

#include <algorithm>
#include <cmath>

namespace trainyard::gui {

namespace {

using Stop = std::array<int, 3>;

// Nine stops of viridis (van der Walt and Smith 2015), dark to bright.
constexpr std::array<Stop, 9> kViridis = {{{68, 1, 84},
                                           {71, 44, 122},
                                           {59, 81, 139},
                                           {44, 113, 142},
                                           {33, 144, 141},
                                           {39, 173, 129},
                                           {92, 200, 99},
                                           {170, 220, 50},
                                           {253, 231, 37}}};
// The part of the ramp that is seen on each background.
constexpr double kFaintest = 0.12;

QColor viridis(double at) {
  const double place = std::clamp(at, 0.0, 1.0) * static_cast<double>(kViridis.size() - 1);
  const std::size_t low = std::min(static_cast<std::size_t>(place), kViridis.size() - 2);
  const double share = place - static_cast<double>(low);
  const auto mixed = [&](std::size_t channel) {
    return static_cast<int>(
        std::lround((1.0 - share) * kViridis.at(low).at(channel) + share * kViridis.at(low + 1).at(channel)));
  };
  return {mixed(0), mixed(1), mixed(2)};
}

QColor mixed(const QColor& one, const QColor& other, double share) {
  const auto channel = [share](int a, int b) { return static_cast<int>(std::lround((1.0 - share) * a + share * b)); };
  return {channel(one.red(), other.red()), channel(one.green(), other.green()), channel(one.blue(), other.blue())};
}

double luminance(const QColor& colour) {
  const auto linear = [](double channel) {
    return channel <= 0.04045 ? channel / 12.92 : std::pow((channel + 0.055) / 1.055, 2.4);
  };
  return 0.2126 * linear(colour.redF()) + 0.7152 * linear(colour.greenF()) + 0.0722 * linear(colour.blueF());
}

}  // namespace

Category Theme::category(std::size_t index) const {
  const std::size_t round = index / kCategoryColours;
  return {colours.at(index % kCategoryColours), static_cast<Hatch>((index + round) % kHatches)};
}

// The colours, then lighter, darker, and halfway between two of them.
CellLook Theme::cell(std::size_t index) const {
  constexpr double kShift = 0.4;
  constexpr std::size_t kPartner = 2;
  const std::size_t round = index / kCategoryColours % kCellMarks;
  const std::size_t place = index % kCategoryColours;
  const QColor& base = colours.at(place);
  const auto mark = static_cast<CellMark>(round);
  switch (mark) {
    case CellMark::kNone:
      return {base, mark};
    case CellMark::kDot:
      return {mixed(base, Qt::white, kShift), mark};
    case CellMark::kBar:
      return {mixed(base, Qt::black, kShift), mark};
    case CellMark::kFrame:
      return {mixed(base, colours.at((place + kPartner) % kCategoryColours), 0.5), mark};
  }
  return {base, mark};
}

QColor Theme::ramp(double share) const {
  const double part = kFaintest + (1.0 - kFaintest) * std::clamp(std::isnan(share) ? 0.0 : share, 0.0, 1.0);
  return dark ? viridis(part) : viridis(1.0 - part);
}

Theme light_theme() {
  Theme theme;
  theme.background = QColor(0xff, 0xff, 0xff);
  theme.raised = QColor(0xf4, 0xf5, 0xf7);
  theme.text = QColor(0x1b, 0x1e, 0x23);
  theme.muted = QColor(0x5a, 0x61, 0x6b);
  theme.grid = QColor(0xe3, 0xe6, 0xea);
  theme.axis = QColor(0x8a, 0x91, 0x9b);
  theme.selection = QColor(0x0b, 0x63, 0xce);
  theme.good = QColor(0x1b, 0x7a, 0x3a);
  theme.warning = QColor(0xa8, 0x5d, 0x00);
  theme.bad = QColor(0xc0, 0x28, 0x28);
  theme.plan_a = QColor(0x1f, 0x5f, 0xa8);
  theme.plan_b = QColor(0xb3, 0x55, 0x00);
  theme.missing = QColor(0xcf, 0xd4, 0xda);
  theme.colours = {QColor(0x44, 0x77, 0xaa), QColor(0xd9, 0x4f, 0x62), QColor(0x22, 0x88, 0x33),
                   QColor(0x99, 0x88, 0x11), QColor(0x2b, 0x99, 0xc0), QColor(0xaa, 0x33, 0x77),
                   QColor(0x80, 0x80, 0x80)};
  return theme;
}

Theme dark_theme() {
  Theme theme;
  theme.dark = true;
  theme.background = QColor(0x1c, 0x1e, 0x22);
  theme.raised = QColor(0x29, 0x2c, 0x31);
  theme.text = QColor(0xec, 0xee, 0xf0);
  theme.muted = QColor(0xa9, 0xb0, 0xb9);
  theme.grid = QColor(0x35, 0x39, 0x40);
  theme.axis = QColor(0x7b, 0x83, 0x8e);
  theme.selection = QColor(0x63, 0xb3, 0xff);
  theme.good = QColor(0x5c, 0xc9, 0x7f);
  theme.warning = QColor(0xf0, 0xae, 0x4a);
  theme.bad = QColor(0xff, 0x76, 0x70);
  theme.plan_a = QColor(0x6c, 0xb0, 0xf5);
  theme.plan_b = QColor(0xf3, 0xa1, 0x55);
  theme.missing = QColor(0x45, 0x4a, 0x52);
  theme.colours = {QColor(0x66, 0x99, 0xcc), QColor(0xee, 0x77, 0x88), QColor(0x4c, 0xb2, 0x5e),
                   QColor(0xcc, 0xbb, 0x44), QColor(0x66, 0xcc, 0xee), QColor(0xd0, 0x6c, 0xb0),
                   QColor(0xa6, 0xa6, 0xa6)};
  return theme;
}

Theme current(const QPalette& palette) {
  return palette.color(QPalette::Base).lightness() < 128 ? dark_theme() : light_theme();
}

namespace {

QPalette palette_of(const Theme& theme, const QColor& window, const QColor& button) {
  QPalette palette(button, window);
  palette.setColor(QPalette::Window, window);
  palette.setColor(QPalette::WindowText, theme.text);
  palette.setColor(QPalette::Base, theme.background);
  palette.setColor(QPalette::AlternateBase, theme.raised);
  palette.setColor(QPalette::ToolTipBase, theme.raised);
  palette.setColor(QPalette::ToolTipText, theme.text);
  palette.setColor(QPalette::PlaceholderText, theme.muted);
  palette.setColor(QPalette::Text, theme.text);
  palette.setColor(QPalette::Button, button);
  palette.setColor(QPalette::ButtonText, theme.text);
  palette.setColor(QPalette::BrightText, theme.bad);
  palette.setColor(QPalette::Link, theme.selection);
  palette.setColor(QPalette::LinkVisited, theme.selection);
  palette.setColor(QPalette::Highlight, theme.selection);
  palette.setColor(QPalette::HighlightedText, readable_on(theme.selection));
  for (const QPalette::ColorRole role : {QPalette::WindowText, QPalette::Text, QPalette::ButtonText}) {
    palette.setColor(QPalette::Disabled, role, theme.axis);
  }
  return palette;
}

}  // namespace

QPalette light_palette() { return palette_of(light_theme(), QColor(0xee, 0xf0, 0xf2), QColor(0xe6, 0xe8, 0xeb)); }

QPalette dark_palette() { return palette_of(dark_theme(), QColor(0x25, 0x28, 0x2c), QColor(0x33, 0x37, 0x3d)); }

double contrast(const QColor& a, const QColor& b) {
  const double one = luminance(a) + 0.05;
  const double other = luminance(b) + 0.05;
  return std::max(one, other) / std::min(one, other);
}

QColor readable_on(const QColor& background) {
  const QColor black(0x10, 0x10, 0x10);
  return contrast(background, black) > contrast(background, Qt::white) ? black : QColor(Qt::white);
}

}  // namespace trainyard::gui
