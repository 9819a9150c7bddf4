// How long a person waits for the window and for an example: wall clock, from the call to the picture.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace trainyard::gui {

class MainWindow;

constexpr double kOpeningMs = 1000.0;  // the target

struct Opening {
  std::string what;
  double picture_ms = 0.0;               // until the window is drawn with it
  std::optional<double> first_plans_ms;  // until plans are in the table; nothing: it asks to measure this machine first
};

// Each example from the start page.
std::vector<Opening> open_examples(MainWindow& window);

}  // namespace trainyard::gui
