#include "gui/session/examples.h"

#include <QObject>
#include <algorithm>

namespace trainyard::gui {

namespace {

Study on_this_machine(int cores) {
  Study study;
  study.name = "A tiny Llama on this machine";
  study.model = "demo-llama";
  study.machine = kThisMachine;
  study.ranks = std::clamp(cores, 1, 2);
  study.sequence = 128;
  study.global_batch = 8;
  study.steps = 200;
  study.precision = "fp32";
  study.failures.clear();
  study.run_steps = 20;
  return study;
}

Study on_five_units() {
  Study study;
  study.name = "Llama 3 70B on 1,024 H100";
  study.model = "llama-3-70b";
  study.machine = "superpod-h100:su=5";
  study.ranks = 1024;
  study.sequence = 8192;
  study.global_batch = 512;
  study.steps = 100'000;
  study.gpu_hour_price = 2.5;
  return study;
}

Study of_llama_3() {
  Study study;
  study.name = "Llama 3.1 405B on 16,384 H100";
  study.model = "llama-3.1-405b";
  study.machine = "llama3-roce";
  study.ranks = 16384;
  study.sequence = 8192;
  study.global_batch = 2048;
  study.steps = 1'000'000;
  return study;
}

}  // namespace

std::vector<Example> example_studies(int cores) {
  return {{QObject::tr("Train a tiny Llama on this machine"),
           QObject::tr("Measures this machine, plans, and really runs the best plan on its processors: about a minute"),
           on_this_machine(cores)},
          {QObject::tr("Llama 3 70B on 1,024 H100 GPUs"),
           QObject::tr("A SuperPOD of five units with its whole network: which layouts fit, and why the best wins"),
           on_five_units()},
          {QObject::tr("Llama 3.1 405B on 16,384 H100 GPUs"),
           QObject::tr("Meta's cluster of 24,576 GPUs: what failures leave of months of training"), of_llama_3()}};
}

}  // namespace trainyard::gui
