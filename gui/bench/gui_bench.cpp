// gui_bench: CPU time of frames at the scale that the program promises, wall clock of the first picture and of examples
// that open, as JSON. Ends with 1 where a target is missed.
#include <QApplication>
#include <QElapsedTimer>
#include <QTemporaryDir>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "gui/app/look.h"
#include "gui/app/main_window.h"
#include "gui/app/system_look.h"
#include "gui/bench/frames.h"
#include "gui/bench/opening.h"

namespace {

using namespace trainyard::gui;
using nlohmann::ordered_json;

bool reached(const FrameTimes& frames) { return frames.median() < kMedianFrameMs && frames.worst() < kWorstFrameMs; }
bool reached(const Opening& opening) { return opening.picture_ms < kOpeningMs; }

ordered_json to_json(const FrameTimes& frames) {
  return {{"view", frames.name},          {"what", frames.what},        {"frames", frames.ms.size()},
          {"median_ms", frames.median()}, {"worst_ms", frames.worst()}, {"within_target", reached(frames)}};
}

ordered_json to_json(const Opening& opening) {
  return {{"what", opening.what},
          {"picture_ms", opening.picture_ms},
          {"first_plans_ms", opening.first_plans_ms ? ordered_json(*opening.first_plans_ms) : ordered_json()},
          {"within_target", reached(opening)}};
}

template <class Measured>
ordered_json to_json(const std::vector<Measured>& all, bool& all_reached) {
  ordered_json list = ordered_json::array();
  for (const Measured& one : all) {
    list.push_back(to_json(one));
    all_reached = all_reached && reached(one);
  }
  return list;
}

}  // namespace

int main(int argc, char** argv) {
  QElapsedTimer since_start;
  since_start.start();
  if (!qEnvironmentVariableIsSet("QT_QPA_PLATFORM")) {
    qputenv("QT_QPA_PLATFORM", "offscreen");
  }
  const QTemporaryDir home;  // nobody's own settings
  for (const char* place : {"XDG_DATA_HOME", "XDG_CONFIG_HOME"}) {
    qputenv(place, home.path().toUtf8());
  }
  QApplication app(argc, argv);
  std::vector<Opening> openings;
  {
    use_own_style();
    SystemLook system(QDBusConnection(QStringLiteral("none")));
    apply(Look::kLight, system);
    MainWindow window(system);
    window.show();
    QApplication::processEvents();
    window.grab();
    openings.push_back({"the start page, from main()", static_cast<double>(since_start.elapsed()), {}});
    for (const Opening& opening : open_examples(window)) {
      openings.push_back(opening);
    }
  }
  std::vector<FrameTimes> frames = timeline_frames(2'000'000);
  for (FrameTimes& more : topology_frames("llama3-roce")) {
    frames.push_back(std::move(more));
  }
  bool all_reached = true;
  const ordered_json answer = {{"kind", "gui_bench"},
                               {"platform", QApplication::platformName().toStdString()},
                               {"clock", "openings: wall; frames: CPU time of the window's thread"},
                               {"target_opening_ms", kOpeningMs},
                               {"openings", to_json(openings, all_reached)},
                               {"target_median_ms", kMedianFrameMs},
                               {"target_worst_ms", kWorstFrameMs},
                               {"frames", to_json(frames, all_reached)}};
  std::puts(answer.dump(2).c_str());
  return all_reached ? 0 : 1;
}
