// Who may include whom: the layers of the design, as tables.
//
//   core <- simulator, core <- executor; cli and gui on top; simulator and executor never meet.
//   Qt in gui alone, CUDA and NCCL in executor alone, Boost.Graph in core/cluster alone, Boost.Math in
//   simulator/failure alone, Gloo in executor/communicator alone; threads and clocks anywhere but in core.
//
// A folder's tests may include what the folder may, and other tests' helpers.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace trainyard {

struct Include {
  int line = 0;
  std::string path;     // between the quotes or angle brackets
  bool quoted = false;  // "..." rather than <...>
  friend bool operator==(const Include&, const Include&) = default;
};

// Every include directive outside comments, those in disabled #if branches too.
std::vector<Include> includes_of(std::string_view source);

// What is wrong with `file` (path from the repository's root) including this; nothing if it is allowed.
std::optional<std::string> broken_rule(std::string_view file, const Include& include);

// The top-level folders that the rules know.
std::vector<std::string> ruled_folders();

}  // namespace trainyard
