// `trainyard validate` for published training throughput.
#pragma once

#include <string>
#include <vector>

#include "cli/session.h"

namespace trainyard::cli {

struct ThroughputValidationOptions {
  std::string file;
  std::vector<std::string> anchors;
  std::string output;  // folder for the profiles
  bool fit = false;
  bool leave_one_out = false;
  bool rows = false;
};

int validate_published_throughput(const Session& session, const std::string& text,
                                  const ThroughputValidationOptions& options);

}  // namespace trainyard::cli
