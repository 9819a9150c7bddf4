// trainyard doctor: what this machine can do, and what is missing.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "cli/doctor_checks.h"
#include "cli/exit_code.h"
#include "cli/json/output.h"
#include "cli/text/table.h"
#include "cli/verbs.h"
#include "core/plan/provenance.h"

namespace trainyard::cli {

namespace {

using nlohmann::ordered_json;

std::vector<Check> all_checks(const executor::Machine& machine, const executor::GpuSoftware& gpu) {
  std::vector<Check> checks = check_machine(machine);
  checks.push_back(check_disk());
  checks.push_back(check_ports());
  checks.push_back(check_matrix_product());
  checks.push_back(check_loopback_collective());
  for (Check& check : check_gpu(gpu)) {
    checks.push_back(std::move(check));
  }
  return checks;
}

ordered_json to_json(const executor::Machine& machine) {
  ordered_json object;
  object["system"] = machine.system;
  object["host"] = machine.host;
  object["processor"] = machine.processor.name;
  object["instructions"] = machine.processor.extensions;
  object["cores"] = machine.processor.cores();
  object["cores_online"] = machine.processor.online;
  object["memory_bytes"] = machine.memory.usable().value();
  object["memory_available_bytes"] = machine.memory.available.value();
  object["huge_pages"] = machine.huge_pages ? ordered_json(*machine.huge_pages) : ordered_json();
  return object;
}

ordered_json to_json(const executor::GpuSoftware& gpu) {
  ordered_json object;
  object["devices"] = gpu.pci_devices ? ordered_json(*gpu.pci_devices) : ordered_json();
  object["driver_version"] = gpu.driver_version ? ordered_json(*gpu.driver_version) : ordered_json();
  object["driver_library"] = gpu.driver_library;
  object["toolkit"] = gpu.toolkit ? ordered_json(*gpu.toolkit) : ordered_json();
  object["nccl_version"] = gpu.nccl_version ? ordered_json(*gpu.nccl_version) : ordered_json();
  object["nccl_library"] = gpu.nccl_library;
  object["nccl_header_version"] = gpu.nccl_header ? ordered_json(*gpu.nccl_header) : ordered_json();
  object["nccl_problem"] = gpu.nccl_problem;
  object["built_with_cuda"] = gpu.cuda.module_found;
  object["cuda_problem"] = gpu.cuda.problem;
  object["cudnn"] = gpu.cuda.cudnn;
  object["cudnn_problem"] = gpu.cuda.cudnn_problem;
  object["usable"] = ordered_json::array();
  for (const executor::Gpu& one : gpu.cuda.gpus) {
    object["usable"].push_back({{"name", one.name},
                                {"bus", one.bus},
                                {"memory_bytes", one.memory.value()},
                                {"compute_capability", one.compute_capability},
                                {"processors", one.processors}});
  }
  object["missing"] = executor::missing(gpu);
  return object;
}

ordered_json to_json(const std::vector<Check>& checks) {
  ordered_json list = ordered_json::array();
  for (const Check& check : checks) {
    list.push_back({{"name", check.name},
                    {"health", std::string(to_string(check.health))},
                    {"found", check.found},
                    {"advice", check.advice}});
  }
  return list;
}

std::string mark(const Style& style, Health health) {
  const std::string text = fmt::format("{:<7}", to_string(health));
  return health == Health::kOk ? style.green(text) : health == Health::kNote ? style.yellow(text) : style.red(text);
}

void print_checks(const Session& session, const std::vector<Check>& checks) {
  constexpr int kIndent = 24;
  const int columns = std::clamp(session.out.columns(), 60, 120);
  const auto in_column = [&](const std::string& text) {
    // wrap() leaves the first line's indentation to us.
    return text.empty() ? "-" : wrap(text, columns, kIndent);
  };
  for (const Check& check : checks) {
    fmt::print("{:<15} {} {}\n", check.name, mark(session.out, check.health), in_column(check.found));
    if (!check.advice.empty()) {
      fmt::print("{:{}}{}\n", "", kIndent, in_column(check.advice));
    }
  }
}

int doctor(const Session& session) {
  const executor::Machine machine = executor::read_machine();
  const executor::GpuSoftware gpu = executor::find_gpu_software();
  const std::vector<Check> checks = all_checks(machine, gpu);
  const bool ready =
      std::none_of(checks.begin(), checks.end(), [](const Check& check) { return check.health == Health::kProblem; });
  if (session.json) {
    ordered_json object;
    object["version"] = tool_version();
    object["ready"] = ready;
    object["machine"] = to_json(machine);
    object["gpu"] = to_json(gpu);
    object["checks"] = to_json(checks);
    print_json(object);
  } else {
    print_checks(session, checks);
    const bool gpus = gpu.cuda.problem.empty() && !gpu.cuda.gpus.empty();
    fmt::print("\n{}\n", !ready ? "Not ready: put right what is marked as a problem."
                         : gpus ? "Ready: calibrate, plan and run work here on GPUs and on the CPU."
                                : "Ready: calibrate, plan and run work here on the CPU.");
  }
  return ready ? kOk : kFailedRun;
}

}  // namespace

void add_doctor(CLI::App& app, Session& session, Action& action) {
  CLI::App* verb =
      add_verb(app, session, {"doctor", "Say what this machine can do and what is missing", "  trainyard doctor"});
  verb->callback([&action] { action = doctor; });
}

}  // namespace trainyard::cli
