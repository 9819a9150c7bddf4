// Slurm's host lists: "srv[1101-1108],login1", "gpu[01-16]-r[1,3]".
//
// Numbers keep the zeros in front: [08-10] is 08, 09, 10. Several brackets multiply. An Error for broken brackets,
// a range that runs backwards, or more than `limit` names. Source: hostlist(3) of Slurm.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace trainyard {

std::vector<std::string> expand_host_list(std::string_view list, const std::string& where, std::size_t limit);

}  // namespace trainyard
