// The studies of the start page: from words of models/ alone, so that they open at once and on any machine.
#pragma once

#include <QString>
#include <vector>

#include "gui/session/study.h"

namespace trainyard::gui {

struct Example {
  QString title;
  QString what;  // a sentence
  Study study;
};

// cores: of this machine, for the one that runs on it.
std::vector<Example> example_studies(int cores);

}  // namespace trainyard::gui
