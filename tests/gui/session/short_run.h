// A tiny model's run on this machine, of more steps than a test waits for.
#pragma once

#include <stdexcept>
#include <string>

#include "core/plan/device_profile.h"
#include "gui/session/problem.h"
#include "gui/session/run_list.h"
#include "tests/gui/support.h"
#include "tests/simulator/support/profiles.h"

namespace trainyard::gui {

constexpr std::int64_t kManySteps = 100'000;

inline RunList::Start tiny_run(const TestFolder& folder, const std::string& name, std::int64_t steps) {
  Study study;
  study.model = "demo-llama";
  study.machine = kThisMachine;
  study.profile = folder.path("here.profile.json");
  study.ranks = 1;
  study.sequence = 32;
  study.global_batch = 1;
  study.steps = kManySteps;
  study.precision = "fp32";
  write_device_profile(simulator::small_machine(), study.profile);
  const OpenedProblem opened = open_problem(study);
  if (!opened.problem) {
    throw std::runtime_error(opened.errors.empty() ? "no problem" : opened.errors.front().problem);
  }
  std::string text;
  for (int i = 0; i < 2000; ++i) {
    text += "a text to train on, line " + std::to_string(i) + "\n";
  }
  RunList::Start start;
  start.plan = opened.problem->plan_of(opened.problem->base);
  start.folder = QString::fromStdString(folder.path(name));
  start.data = QString::fromStdString(folder.write("text.txt", text));
  start.steps = steps;
  return start;
}

inline bool wait_for_step(const RunList& runs, std::size_t step) {
  return wait_for([&] { return runs.runs().back().record.steps.size() >= step; });
}

}  // namespace trainyard::gui
