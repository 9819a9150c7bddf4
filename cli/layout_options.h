// The flags that narrow the planner's search down, and those that it doesn't search (types, reductions).
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/layout/layout.h"

namespace CLI {
class App;
}

namespace trainyard::cli {

struct LayoutOptions {
  std::optional<int> tensor;
  std::optional<int> pipeline;
  std::optional<int> data;
  std::optional<int> context;
  std::optional<int> expert;
  std::optional<int> zero;
  std::optional<std::int64_t> micro_batch;
  std::optional<std::string> schedule;
  std::optional<std::string> recompute;
  std::optional<std::string> precision;  // "fp32", "bf16", "fp16", "fp8", "mxfp8", "nvfp4"
  std::optional<int> most_tensor;
  std::optional<int> most_pipeline;
  bool sequence_parallel = false;
  bool no_overlap = false;
  bool strict_reduction = false;
};

void add_layout_options(CLI::App& verb, LayoutOptions& options);

// What isn't searched. `precision`: where the flag isn't given.
Layout base_layout(const LayoutOptions& options, const std::string& precision);

// Whether the flags let the planner look at this layout.
bool wanted(const LayoutOptions& options, const Layout& layout);

}  // namespace trainyard::cli
