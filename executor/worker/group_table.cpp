#include "executor/worker/group_table.h"

#include <algorithm>

#include "core/error.h"

namespace trainyard::executor {

std::vector<GroupHandle> group_table(const Program& program, Rank rank) {
  std::vector<GroupHandle> table;
  for (const Group& group : program.groups) {
    GroupHandle handle;
    handle.members = group_members(program, group, rank);
    const auto own = std::find(handle.members.begin(), handle.members.end(), rank);
    check(own != handle.members.end(), "a rank belongs to its own groups");
    handle.index = static_cast<int>(own - handle.members.begin());
    const std::int64_t kind = static_cast<std::int64_t>(group.kind);
    handle.key = static_cast<std::uint32_t>(kind * program.mesh.ranks() + handle.members.front().value());
    table.push_back(std::move(handle));
  }
  return table;
}

}  // namespace trainyard::executor
