// The docks of a window: one line each in docks.cpp.
#pragma once

#include <cstdint>
#include <vector>

#include "gui/session/session.h"
#include "gui/views/view.h"

namespace trainyard::gui {

class PlansDock;
class RunsDock;

enum class DockPlace : std::uint8_t { kLeft, kTop, kBottom };

struct PlacedView {
  View* view = nullptr;
  DockPlace place = DockPlace::kBottom;
};

struct Docks {
  std::vector<PlacedView> views;  // in the order of Ctrl+1 .. 9, 0
  PlansDock* plans = nullptr;
  RunsDock* runs = nullptr;
};

Docks make_docks(Session& session);

}  // namespace trainyard::gui
