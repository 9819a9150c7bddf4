// Light, dark or as the system has it.
#pragma once

#include <cstdint>

namespace trainyard::gui {

class SystemLook;

enum class Look : std::uint8_t { kSystem, kLight, kDark };

// Before the first window: the Fusion style, which takes palettes on every system.
void use_own_style();
void apply(Look look, const SystemLook& system);

// As the person chose it last.
Look kept_look();
void keep_look(Look look);

}  // namespace trainyard::gui
