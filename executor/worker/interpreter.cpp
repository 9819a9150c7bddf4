#include "executor/worker/interpreter.h"

#include <algorithm>
#include <set>
#include <utility>

#include "core/error.h"
#include "core/program/wire.h"
#include "executor/worker/group_table.h"
#include "executor/worker/optimizer_update.h"

namespace trainyard::executor {

namespace {

std::int64_t query_tile(const Program& program) {
  for (const Segment& segment : program.segments) {
    for (const Operation& operation : segment.forward) {
      if (const auto* attention = std::get_if<Attention>(&operation)) {
        return attention->query_tile;
      }
    }
  }
  return 0;  // a program without layers
}

BindingContext binding_context(const Plan& plan, const Program& program, const Role& role, Rank rank, Device& device,
                               const std::vector<std::byte*>& addresses, const Constants& constants) {
  const Coordinates at = program.mesh.coordinates(rank);
  return {.device = device,
          .role = role,
          .segments = program.segments,
          .addresses = addresses,
          .shape = block_shape(plan, at.tensor, query_tile(program)),
          .cosines = constants.cosines,
          .sines = constants.sines,
          .coordinates = at,
          .tensor_size = program.mesh.size(Axis::kTensor)};
}

// In bytes, into the gradients of a table that two stages hold: under ZeRO they sum what this rank owns.
std::int64_t owned_offset(const BindingContext& context, const Instruction& reduce) {
  check(reduce.bucket.has_value(), "copies of parameters lie in a bucket");
  const Bucket& bucket = context.role.buckets[reduce.bucket->at()];
  if (reduce.communication->elements == bucket.elements) {
    return 0;
  }
  return bucket.boundaries[static_cast<std::size_t>(context.coordinates.data)] * size_of(reduce.communication->type);
}

// Every rank has a group of each of the program's kinds, in the same order.
void join_groups(const Program& program, Communicator& communicator, const std::vector<GroupHandle>& groups) {
  for (std::size_t i = 0; i < groups.size(); ++i) {
    if (program.groups[i].kind == GroupKind::kPipeline) {
      communicator.join_line(groups[i]);
    } else {
      communicator.join(groups[i]);
    }
  }
}

}  // namespace

Interpreter::Interpreter(const Plan& plan, const Program& program, Device& device, Communicator& communicator,
                         const std::vector<std::byte*>& addresses, const Constants& constants, Fault fault)
    : role_(program.role_of(communicator.rank())),
      device_(device),
      communicator_(communicator),
      groups_(group_table(program, communicator.rank())),
      awaited_(role_.instructions.size()) {
  join_groups(program, communicator, groups_);
  const BindingContext context =
      binding_context(plan, program, role_, communicator.rank(), device, addresses, constants);
  for (const Instruction& instruction : role_.instructions) {
    actions_.push_back(bind(context, plan, instruction, constants, fault));
    labels_.push_back(std::to_string(instruction.id.at()) + " " + std::string(to_string(instruction.kind)));
    for (const Dependency& wait : instruction.waits) {
      if (wait.step_offset == 0) {
        awaited_[wait.instruction.at()] = true;
      }
    }
  }
}

Action Interpreter::bind(const BindingContext& context, const Plan& plan, const Instruction& instruction,
                         const Constants& constants, Fault fault) const {
  switch (instruction.kind) {
    case InstructionKind::kForward:
    case InstructionKind::kBackwardInput:
    case InstructionKind::kBackwardWeight:
    case InstructionKind::kRecompute:
      return bind_segment(context, instruction);
    case InstructionKind::kGradientNorm: {
      Action norm = bind_gradient_norm(context, instruction);
      Action scale = fault == Fault::kScaleGradient ? scale_gradient(context, instruction) : Action();
      if (!scale) {
        return norm;
      }
      return [scale, norm](const StepSettings& settings) {
        scale(settings);
        norm(settings);
      };
    }
    case InstructionKind::kOptimizer:
      return bind_optimizer(context, instruction, plan, constants.clip_scale);
    case InstructionKind::kReduce: {
      Action reduce = bind_communication(context, instruction);
      return fault == Fault::kSkipNormReduce ? keep_norm_gradient(context, instruction, std::move(reduce)) : reduce;
    }
    case InstructionKind::kGather:
    case InstructionKind::kNormReduce:
    case InstructionKind::kSend:
    case InstructionKind::kRecv:
      return bind_communication(context, instruction);
    case InstructionKind::kFree:
    case InstructionKind::kAllToAll:
    case InstructionKind::kSnapshot:
    case InstructionKind::kOffload:
      break;
  }
  check(false, "the executor's capabilities cover every instruction of a plan it accepts");
  return {};
}

Action Interpreter::bind_communication(const BindingContext& context, const Instruction& instruction) const {
  check(instruction.communication.has_value(), "a communication instruction says what it moves");
  const bool sends = instruction.communication->kind == CommunicationKind::kSend;
  const std::vector<BufferId>& touched = sends ? instruction.reads : instruction.writes;
  check(!touched.empty(), "a communication has a buffer");
  std::byte* data = context.addresses[touched.front().at()];
  if (instruction.communication->group == GroupId(static_cast<int>(GroupKind::kEmbedding))) {
    data += owned_offset(context, instruction);
  }
  const bool transfer = sends || instruction.communication->kind == CommunicationKind::kRecv;
  return transfer ? bind_transfer(instruction, data) : bind_collective(context, instruction, data);
}

Action Interpreter::bind_collective(const BindingContext& context, const Instruction& instruction,
                                    std::byte* data) const {
  const Communication& what = *instruction.communication;
  const GroupHandle* group = &groups_[what.group.at()];
  const auto members = static_cast<int>(group->members.size());
  const std::vector<std::int64_t> boundaries =
      what.partition ? context.role.buckets[what.partition->at()].boundaries : even_boundaries(what.elements, members);
  check(boundaries.back() == what.elements, "a partition covers the tensor");
  const Stream stream = instruction.stream;
  Communicator* communicator = &communicator_;
  switch (what.kind) {
    case CommunicationKind::kAllReduce:
      return [=, algorithm = what.algorithm, type = what.type, op = what.op](const StepSettings&) {
        communicator->all_reduce(stream, *group, algorithm, data, boundaries, type, op);
      };
    case CommunicationKind::kReduceScatter:
      return [=, algorithm = what.algorithm, type = what.type](const StepSettings&) {
        communicator->reduce_scatter(stream, *group, algorithm, data, boundaries, type);
      };
    case CommunicationKind::kAllGather:
      return [=, algorithm = what.algorithm, type = what.type](const StepSettings&) {
        communicator->all_gather(stream, *group, algorithm, data, boundaries, type);
      };
    case CommunicationKind::kBroadcast:
      return [=, algorithm = what.algorithm, type = what.type, elements = what.elements](const StepSettings&) {
        communicator->broadcast(stream, *group, algorithm, data, elements, type);
      };
    case CommunicationKind::kAllToAll:
    case CommunicationKind::kSend:
    case CommunicationKind::kRecv:
      break;
  }
  check(false, "not a collective that works in place");
  return {};
}

Action Interpreter::bind_transfer(const Instruction& instruction, std::byte* data) const {
  const Communication& what = *instruction.communication;
  check(what.peer_stage.has_value(), "a transfer names its peer");
  const Rank peer = groups_[what.group.at()].members[static_cast<std::size_t>(*what.peer_stage)];
  const std::uint64_t tag = what.tag;
  const Stream stream = instruction.stream;
  const ByteCount bytes(what.elements * size_of(what.type));
  Communicator* communicator = &communicator_;
  if (what.kind == CommunicationKind::kSend) {
    return [=](const StepSettings&) { communicator->send(stream, peer, tag, data, bytes); };
  }
  return [=](const StepSettings&) { communicator->recv(stream, peer, tag, data, bytes); };
}

std::size_t repeated_part(const Role& role) {
  constexpr std::size_t kFewest = 8;
  const auto changes = [](const Instruction& instruction) {
    return instruction.communication.has_value() || instruction.kind == InstructionKind::kOptimizer;
  };
  const auto first = std::find_if(role.instructions.begin(), role.instructions.end(), changes);
  const auto part = static_cast<std::size_t>(first - role.instructions.begin());
  return part < kFewest ? 0 : part;
}

void Interpreter::capture_repeated() { repeated_ = repeated_part(role_); }

bool Interpreter::try_capture(const StepSettings& settings) {
  if (repeated_ == 0 || warmed_ != settings.loss_scale) {
    captured_.reset();  // it has the old scale
    warmed_ = settings.loss_scale;
    return false;
  }
  if (captured_ == nullptr) {
    captured_ = device_.capture([&] {
      std::vector<EventHandle> events(role_.instructions.size());
      enqueue_part(0, repeated_, settings, nullptr, events);
    });
    repeated_ = captured_ == nullptr ? 0 : repeated_;  // not asked again
  }
  return captured_ != nullptr;
}

bool Interpreter::enqueue(const StepSettings& settings, std::vector<SliceClock>* clocks) {
  check(clocks == nullptr || clocks->size() == role_.instructions.size(), "one clock per instruction");
  std::vector<EventHandle> events(role_.instructions.size());
  const bool replays = clocks == nullptr && try_capture(settings);
  if (!replays) {
    enqueue_part(0, role_.instructions.size(), settings, clocks, events);
    return false;
  }
  device_.enqueue(*captured_);
  const EventHandle done = device_.record(Stream::kCompute);
  std::fill_n(events.begin(), repeated_, done);
  std::set<Stream> others;
  for (std::size_t i = repeated_; i < role_.instructions.size(); ++i) {
    if (role_.instructions[i].stream != Stream::kCompute) {
      others.insert(role_.instructions[i].stream);
    }
  }
  for (const Stream stream : others) {
    device_.wait(stream, done);
  }
  enqueue_part(repeated_, role_.instructions.size(), settings, nullptr, events);
  return true;
}

void Interpreter::enqueue_part(std::size_t begin, std::size_t end, const StepSettings& settings,
                               std::vector<SliceClock>* clocks, std::vector<EventHandle>& events) {
  for (std::size_t index = begin; index < end; ++index) {
    const Instruction& instruction = role_.instructions[index];
    for (const Dependency& wait : instruction.waits) {
      if (wait.step_offset == 0) {
        device_.wait(instruction.stream, events[wait.instruction.at()]);
      }
    }
    if (clocks != nullptr) {
      device_.begin_slice(instruction.stream, &(*clocks)[index]);
    }
    device_.begin_range(labels_[index].c_str());
    actions_[index](settings);
    device_.end_range();
    if (clocks != nullptr) {
      device_.end_slice(instruction.stream, &(*clocks)[index]);
    }
    if (awaited_[index]) {
      events[index] = device_.record(instruction.stream);
    }
  }
}

}  // namespace trainyard::executor
