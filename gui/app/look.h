// Light, dark or as the system has it. Qt 6.4 doesn't say which the system has: under "system" its palette stays.
#pragma once

#include <QPalette>
#include <cstdint>

class QApplication;

namespace trainyard::gui {

enum class Look : std::uint8_t { kSystem, kLight, kDark };

// Before the first window: the Fusion style, which takes palettes on every system.
QPalette use_own_style();  // gives the system's palette
void apply(Look look, const QPalette& system);

}  // namespace trainyard::gui
