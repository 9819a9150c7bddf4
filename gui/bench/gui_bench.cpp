// gui_bench: CPU time of frames at the scale that the program promises, as JSON. Ends with 1 where a target is missed.
#include <QApplication>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "gui/bench/frames.h"

int main(int argc, char** argv) {
  if (!qEnvironmentVariableIsSet("QT_QPA_PLATFORM")) {
    qputenv("QT_QPA_PLATFORM", "offscreen");
  }
  const QApplication app(argc, argv);
  using trainyard::gui::FrameTimes;
  std::vector<FrameTimes> all = trainyard::gui::timeline_frames(2'000'000);
  for (FrameTimes& frames : trainyard::gui::topology_frames("llama3-roce")) {
    all.push_back(std::move(frames));
  }
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  bool reached = true;
  for (const FrameTimes& frames : all) {
    const bool ok = frames.median() < trainyard::gui::kMedianFrameMs && frames.worst() < trainyard::gui::kWorstFrameMs;
    reached = reached && ok;
    list.push_back({{"view", frames.name},
                    {"what", frames.what},
                    {"frames", frames.ms.size()},
                    {"median_ms", frames.median()},
                    {"worst_ms", frames.worst()},
                    {"within_target", ok}});
  }
  const nlohmann::ordered_json answer = {{"kind", "gui_bench"},
                                         {"platform", QApplication::platformName().toStdString()},
                                         {"clock", "CPU time of the window's thread"},
                                         {"target_median_ms", trainyard::gui::kMedianFrameMs},
                                         {"target_worst_ms", trainyard::gui::kWorstFrameMs},
                                         {"frames", list}};
  std::puts(answer.dump(2).c_str());
  return reached ? 0 : 1;
}
