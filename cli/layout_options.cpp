#include "cli/layout_options.h"

#include <CLI/CLI.hpp>

namespace trainyard::cli {

void add_layout_options(CLI::App& verb, LayoutOptions& options) {
  const char* what = "Only layouts with";
  verb.add_option("--tp", options.tensor, "Each layer cut over this many ranks (tensor parallelism)")->group(what);
  verb.add_option("--pp", options.pipeline, "This many pipeline stages")->group(what);
  verb.add_option("--dp", options.data, "This many replicas, each with its share of the batch (data parallelism)")
      ->group(what);
  verb.add_option("--zero", options.zero, "This ZeRO stage: 0, or 1 to share out the optimizer state over replicas")
      ->group(what);
  verb.add_option("--micro-batch", options.micro_batch, "Micro-batches of this many samples")->group(what);
  verb.add_option("--schedule", options.schedule, "This pipeline schedule: gpipe, 1f1b or interleaved")
      ->type_name("NAME")
      ->check(CLI::IsMember({"gpipe", "1f1b", "interleaved"}))
      ->group(what);
  verb.add_option("--recompute", options.recompute, "Activations computed again in the backward: none or full")
      ->type_name("NAME")
      ->check(CLI::IsMember({"none", "full"}))
      ->group(what);
  verb.add_flag("--sequence-parallel", options.sequence_parallel,
                "Norms and residuals cut along the sequence over the tensor-parallel ranks")
      ->group(what);
  verb.add_flag("--no-overlap", options.no_overlap, "Gradients reduced after the last backward")->group(what);
  verb.add_option("--precision", options.precision,
                  "fp32, or bf16: weights and activations in bf16, gradients and optimizer in fp32 "
                  "(default fp32 for a profile, bf16 for a cluster)")
      ->type_name("TYPE")
      ->check(CLI::IsMember({"fp32", "bf16"}))
      ->group("How numbers are held");
  verb.add_flag("--strict-reduction", options.strict_reduction, "Gradients summed in rank order, not around the ring")
      ->group("How numbers are held");
}

Layout base_layout(const LayoutOptions& options, const std::string& precision) {
  Layout layout;
  if (options.precision.value_or(precision) == "bf16") {
    layout.compute_type = DataType::kBf16;
    layout.parameter_type = DataType::kBf16;
    layout.communication_type = DataType::kBf16;
  }
  layout.strict_reduction = options.strict_reduction;
  return layout;
}

bool wanted(const LayoutOptions& options, const Layout& layout) {
  const auto agrees = [](const auto& asked, const auto& value) { return !asked || *asked == value; };
  return agrees(options.tensor, layout.tensor) && agrees(options.pipeline, layout.pipeline) &&
         agrees(options.data, layout.data) && agrees(options.zero, layout.zero_stage) &&
         agrees(options.micro_batch, layout.micro_batch) && agrees(options.schedule, to_string(layout.schedule)) &&
         agrees(options.recompute, to_string(layout.recompute)) &&
         (!options.sequence_parallel || layout.sequence_parallel) &&
         (!options.no_overlap || !layout.overlap_gradient_reduce);
}

}  // namespace trainyard::cli
