#include "core/program/outline.h"

#include <map>
#include <utility>

#include "core/error.h"
#include "core/program/outline_writer.h"
#include "core/program/stage_template.h"

namespace trainyard {

namespace {

class Outliner {
 public:
  explicit Outliner(const Plan& plan) : plan_(plan), schedules_(plan.layout) { made_.frame = program_frame(plan); }

  // False where a stage can't be written from a template.
  bool make() {
    bind_ranks();
    for (int stage = 0; stage < plan_.layout.pipeline; ++stage) {
      const std::optional<Samples> samples = choose_samples(plan_.layout, schedules_.of(stage));
      const std::shared_ptr<const StageTemplate> from = samples ? template_of(stage, *samples) : nullptr;
      if (!from) {
        return false;
      }
      RoleOutline& role = made_.roles[static_cast<std::size_t>(stage)];
      role.examples = from->role;
      OutlineWriter(plan_.layout, schedules_, *from, *samples, role).write();
    }
    made_.frame.segments = table_.take();
    return true;
  }
  ProgramOutline take() { return std::move(made_); }

 private:
  // One role a stage, as RoleDetail::kByStage has it; numbered as ranks come to them.
  void bind_ranks() {
    const auto stages = static_cast<std::size_t>(plan_.layout.pipeline);
    std::vector<int> role_of(stages, -1);
    made_.roles.resize(stages);
    std::vector<Role> roles;
    for (std::int64_t r = 0; r < made_.frame.mesh.ranks(); ++r) {
      const int stage = made_.frame.mesh.coordinates(Rank(r)).pipeline;
      int& role = role_of[static_cast<std::size_t>(stage)];
      if (role < 0) {
        role = static_cast<int>(roles.size());
        Role made;
        made.id = RoleId(role);
        made.stage = stage;
        made.representative = Rank(r);
        for (const Chunk& chunk : stage_chunks(plan_.model, plan_.layout, stage)) {
          made.chunks.push_back(chunk.number);
        }
        roles.push_back(std::move(made));
      }
      ++roles[static_cast<std::size_t>(role)].ranks;
      made_.frame.bindings.push_back({.role = RoleId(role)});
    }
    for (std::size_t stage = 0; stage < stages; ++stage) {
      made_.roles[stage].role = roles[static_cast<std::size_t>(role_of[stage])];
    }
    made_.frame.roles = std::move(roles);
  }

  std::shared_ptr<const StageTemplate> template_of(int stage, const Samples& samples) {
    const auto [entry, added] = templates_.try_emplace(template_signature(plan_, stage, samples));
    if (added) {
      if (std::optional<StageTemplate> made = make_template(plan_, stage, samples, table_)) {
        entry->second = std::make_shared<const StageTemplate>(std::move(*made));
      }
    }
    return entry->second;
  }

  const Plan& plan_;
  StageSchedules schedules_;
  SegmentTable table_;
  ProgramOutline made_;
  std::map<std::vector<std::int64_t>, std::shared_ptr<const StageTemplate>> templates_;
};

RoleOutline outline_role(const Role& role, std::shared_ptr<const Role> examples) {
  RoleOutline made;
  made.examples = std::move(examples);
  made.role.id = role.id;
  made.role.stage = role.stage;
  made.role.chunks = role.chunks;
  made.role.representative = role.representative;
  made.role.ranks = role.ranks;
  for (const Instruction& instruction : role.instructions) {
    const auto id = static_cast<std::uint32_t>(instruction.id.value());
    for (const Dependency& wait : instruction.waits) {
      if (wait.step_offset == 0) {
        made.waits.push_back(static_cast<std::uint32_t>(wait.instruction.value()));
      }
    }
    made.instructions.push_back({id, static_cast<std::uint32_t>(made.waits.size())});
    if (instruction.communication && instruction.communication->peer_stage) {
      made.transfers.push_back({id, *instruction.communication->peer_stage, instruction.communication->tag});
    }
  }
  made.arena_bytes = role.arena_bytes;
  made.persistent_bytes = role.persistent_bytes;
  return made;
}

}  // namespace

ProgramOutline outline(const Plan& plan) {
  validate(plan, "plan");
  Outliner outliner(plan);
  return outliner.make() ? outliner.take() : outline(compile(plan, ProgramKind::kTraining, RoleDetail::kByStage));
}

namespace {

template <class Examples>
ProgramOutline outline_roles(const Program& program, Examples examples) {
  ProgramOutline made;
  made.frame.kind = program.kind;
  made.frame.mesh = program.mesh;
  made.frame.segments = program.segments;
  made.frame.groups = program.groups;
  made.frame.bindings = program.bindings;
  for (const Role& role : program.roles) {
    made.roles.push_back(outline_role(role, examples(role)));
    made.frame.roles.push_back(made.roles.back().role);
  }
  return made;
}

}  // namespace

ProgramOutline outline(const Program& program) {
  ProgramOutline made = outline_roles(program, [](const Role& role) { return std::make_shared<const Role>(role); });
  for (RoleOutline& role : made.roles) {
    const MemoryProfile live = memory_profile(*role.examples);
    role.peak = live.peak;
    role.peak_by_cause = live.peak_by_cause;
  }
  return made;
}

ProgramOutline outline_view(const Program& program) {
  return outline_roles(program,
                       [](const Role& role) { return std::shared_ptr<const Role>(std::shared_ptr<void>(), &role); });
}

}  // namespace trainyard
