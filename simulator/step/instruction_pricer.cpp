#include "simulator/step/instruction_pricer.h"

#include "core/error.h"
#include "core/program/host_update.h"
#include "simulator/throughput/offload_time.h"

namespace trainyard::simulator {

namespace {

// Fifty years, over all instructions of all roles: no sum along a step overflows.
constexpr Nanoseconds kLongest = Nanoseconds{50} * 365 * 24 * 3600 * 1'000'000'000;

Nanoseconds bounded_nanoseconds(Seconds time) { return to_nanoseconds(min(time, to_seconds(kLongest))); }

}  // namespace

std::vector<std::int64_t> counts_of_examples(const RoleOutline& outline) {
  std::vector<std::int64_t> counts(outline.examples->instructions.size(), 0);
  for (const OutlineInstruction& instruction : outline.instructions) {
    ++counts[instruction.example];
  }
  return counts;
}

std::vector<Nanoseconds> InstructionPricer::role(const Role& role) {
  std::vector<Nanoseconds> work;
  work.reserve(role.instructions.size());
  known_.clear();
  for (const Instruction& instruction : role.instructions) {
    work.push_back(instruction.communication ? communication(role, *instruction.communication) : compute(instruction));
    add_to_total(work.back(), 1);
  }
  return work;
}

std::vector<Nanoseconds> InstructionPricer::outlined(const RoleOutline& outline) {
  const std::vector<Instruction>& examples = outline.examples->instructions;
  std::vector<std::optional<int>> peer(examples.size());
  for (const OutlineTransfer& transfer : outline.transfers) {
    peer[outline.instructions[transfer.instruction].example] = transfer.peer_stage;
  }
  std::vector<Nanoseconds> work;
  work.reserve(examples.size());
  known_.clear();
  for (std::size_t e = 0; e < examples.size(); ++e) {
    if (!examples[e].communication) {
      work.push_back(compute(examples[e]));
    } else if (peer[e]) {
      Communication own = *examples[e].communication;
      own.peer_stage = peer[e];
      work.push_back(communication(outline.role, own));
    } else {
      work.push_back(communication(outline.role, *examples[e].communication));
    }
  }
  const std::vector<std::int64_t> counts = counts_of_examples(outline);
  for (std::size_t e = 0; e < examples.size(); ++e) {
    add_to_total(work[e], counts[e]);
  }
  return work;
}

void InstructionPricer::add_to_total(Nanoseconds work, Nanoseconds times) {
  const bool within = times == 0 || work < (kLongest - total_) / times;
  if (!within) {
    throw Error("a step would take more than fifty years", "the machine's profile",
                "is one of its rates or times wrong? otherwise a smaller batch, or more ranks");
  }
  total_ += work * times;
}

// A copy between host and device, or the host's update of a bucket.
Nanoseconds InstructionPricer::on_host(const Instruction& instruction) const {
  if (!host_link_) {
    throw Error("says nothing of copies between host and device", "the machine's profile",
                "simulate a layout with offload on a cluster (--cluster)");
  }
  if (instruction.kind == InstructionKind::kOffload) {
    return bounded_nanoseconds(instruction.work.bytes.quantity() / *host_link_);
  }
  double parameters = 0.0;
  for (const Operation& operation : instruction.operations) {
    parameters += static_cast<double>(std::get<Elementwise>(operation).elements);
  }
  return bounded_nanoseconds(host_update_time(parameters));
}

Nanoseconds InstructionPricer::compute(const Instruction& instruction) {
  if (instruction.kind == InstructionKind::kOffload || updates_on_host(instruction)) {
    return on_host(instruction);
  }
  Nanoseconds time = bounded_nanoseconds(kernels_.time(instruction.operations));
  if (instruction.segment) {
    time += segment(*instruction.segment, pass_of(instruction.kind), instruction.accumulate);
  }
  return time;
}

Nanoseconds InstructionPricer::segment(SegmentId id, Pass pass, bool accumulate) {
  const auto [entry, added] = segments_.try_emplace(std::tuple(id, pass, accumulate), 0);
  if (added) {
    std::vector<Operation> operations = program_.segments[id.at()].operations(pass);
    for (Operation& operation : operations) {
      if (Gemm* gemm = std::get_if<Gemm>(&operation); gemm != nullptr && accumulate) {
        gemm->accumulate = true;
      }
    }
    entry->second = bounded_nanoseconds(kernels_.time(operations));
  }
  return entry->second;
}

Nanoseconds InstructionPricer::communication(const Role& role, const Communication& communication) {
  const auto [entry, added] = known_.try_emplace(
      std::tuple(communication.kind, communication.algorithm, communication.group, communication.payload.value(),
                 communication.extent.expected.value(), communication.peer_stage),
      0);
  if (added) {
    entry->second = bounded_nanoseconds(communications_.time(program_, role, communication));
  }
  return entry->second;
}

}  // namespace trainyard::simulator
