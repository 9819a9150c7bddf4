// StackProfile: what a generation of training software reaches on an accelerator, as a few named, dated numbers.
//
// The silicon's peaks are facts; how near kernels come, which of them are fused and what is overlapped is the
// software's, and changes more from one release to the next than from one GPU to the next. A profile names its
// software and its date; one that is unknown gets a band instead of a number's certainty.
// Files: models/stacks/*.json ("document": "stack_profile"), fitted by `trainyard validate --fit`.
#pragma once

#include <optional>
#include <string>

namespace trainyard {

struct StackProfile {
  std::string name;  // "megatron-2025"
  std::string date;  // "2025-04"
};

}  // namespace trainyard
