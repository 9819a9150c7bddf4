// Program: what every rank does in one training step, and who it does it with.
//
// Ranks whose instructions are equal up to peers share a Role. The simulator interprets a role with a cost
// model, the executor binds a rank to its role and runs it with real kernels; both name instructions by
// (role, ordinal), so that prediction and measurement line up.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/layout/mesh.h"
#include "core/plan/plan.h"
#include "core/program/bucket.h"
#include "core/program/buffer.h"
#include "core/program/instruction.h"
#include "core/program/segment.h"

namespace trainyard {

// The process groups that a program's communications refer to; GroupId indexes Program::groups.
enum class GroupKind : std::uint8_t {
  kTensor,
  kData,  // dp x cp: who sees other tokens of the same parameters, by rank
  kPipeline,
  kContext,
  kExpert,
  kEmbedding,  // first and last stage, where both hold a tied table; under DualPipe a stage and its mirror
  kWorld,
  kShard,    // those of kData that share out state or parameters, where not all do (hybrid sharding)
  kReplica,  // and those that hold the same share
  kExpertTensor,
  kExpertData,  // who reduces an expert's gradient
};
std::string_view to_string(GroupKind kind);

struct Group {
  GroupId id;
  GroupKind kind = GroupKind::kTensor;
  int size = 1;
};

struct Role {
  RoleId id;
  int stage = 0;            // pipeline coordinate
  std::vector<int> chunks;  // global chunk numbers held, in order
  Rank representative;      // the first rank that has this role
  std::int64_t ranks = 0;   // how many have it
  std::vector<Bucket> buckets;
  std::vector<Buffer> buffers;
  std::vector<Instruction> instructions;  // in issue order
  ByteCount arena_bytes;                  // transient buffers, placed
  ByteCount persistent_bytes;             // buffers that live from step to step
};

// What ties one rank to its role. Peers are not listed: a group's members follow from the mesh.
struct Binding {
  RoleId role;
  int fabric_class = 0;  // ranks with unlike links or speeds get classes of their own
};

// kTraining: a whole step. kEvaluation: forward and loss only, on the same buffers and parameters.
enum class ProgramKind : std::uint8_t { kTraining, kEvaluation };

struct Program {
  ProgramKind kind = ProgramKind::kTraining;
  std::string hash;  // of everything below, in hexadecimal
  Mesh mesh;
  std::vector<Segment> segments;
  std::vector<Group> groups;
  std::vector<Role> roles;
  std::vector<Binding> bindings;  // by rank

  const Role& role_of(Rank rank) const { return roles[bindings[rank.at()].role.at()]; }
};

// The ranks of `rank`'s group, in group order; rank's own place in it.
std::vector<Rank> group_members(const Program& program, const Group& group, Rank rank);

// Ranks of a stage whose shares differ by remainders (a block of a bucket, a row of the vocabulary) have roles of their
// own, as an executor needs; or share the role of the stage's first rank, which a simulation of thousands can't tell
// apart.
enum class RoleDetail : std::uint8_t { kExact, kByStage };

// Compiles a plan. Throws Error for a plan that is not consistent (degrees that don't divide, more stages
// than layers). Cost: O(roles x instructions of a role + ranks).
Program compile(const Plan& plan, ProgramKind kind = ProgramKind::kTraining, RoleDetail detail = RoleDetail::kExact);

// Mesh and groups of a plan's program, without roles. Throws Error as compile() does.
Program program_frame(const Plan& plan);

// FLOPs, bytes and messages of one role, by kind: what the executor's counters must equal as integers.
struct Volumes {
  FlopCount flops;
  std::vector<ByteCount> sent = std::vector<ByteCount>(kCommunicationKinds);  // by CommunicationKind
  std::vector<std::int64_t> messages = std::vector<std::int64_t>(kCommunicationKinds);
  friend bool operator==(const Volumes&, const Volumes&) = default;
};
Volumes volumes(const Role& role);

// Bytes live at each instruction, and the peak by cause: persistent buffers plus those in use.
struct MemoryProfile {
  std::vector<ByteCount> live;                                                   // by instruction
  std::vector<ByteCount> peak_by_cause = std::vector<ByteCount>(kMemoryCauses);  // at the peak
  ByteCount peak;  // sum of the above, without fragmentation and runtime
  InstructionId peak_at;
};
MemoryProfile memory_profile(const Role& role);

}  // namespace trainyard
