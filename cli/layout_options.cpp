#include "cli/layout_options.h"

#include <CLI/CLI.hpp>
#include <vector>

namespace trainyard::cli {

namespace {

std::vector<std::string> schedule_names() {
  std::vector<std::string> names;
  for (int i = 0; i < kScheduleKinds; ++i) {
    names.emplace_back(to_string(static_cast<ScheduleKind>(i)));
  }
  return names;
}

void add_degrees(CLI::App& verb, LayoutOptions& options, const char* what) {
  verb.add_option("--tp", options.tensor, "Each layer cut over this many ranks (tensor parallelism)")->group(what);
  verb.add_option("--pp", options.pipeline, "This many pipeline stages")->group(what);
  verb.add_option("--dp", options.data, "This many replicas, each with its share of the batch (data parallelism)")
      ->group(what);
  verb.add_option("--cp", options.context, "Each sequence cut over this many ranks (context parallelism)")->group(what);
  verb.add_option("--ep", options.expert, "Experts dealt out over this many ranks (expert parallelism)")->group(what);
  verb.add_option("--max-tp", options.most_tensor, "Tensor parallelism over at most this many ranks")->group(what);
  verb.add_option("--max-pp", options.most_pipeline, "At most this many pipeline stages")->group(what);
  verb.add_option("--zero", options.zero,
                  "This ZeRO stage: 0; 1 to share out the optimizer state over replicas, 2 gradients too, 3 parameters "
                  "too (FSDP)")
      ->check(CLI::Range(0, 3))
      ->group(what);
}

}  // namespace

void add_layout_options(CLI::App& verb, LayoutOptions& options) {
  const char* what = "Only layouts with";
  add_degrees(verb, options, what);
  verb.add_option("--micro-batch", options.micro_batch, "Micro-batches of this many samples")->group(what);
  verb.add_option("--schedule", options.schedule,
                  "This pipeline schedule: gpipe, 1f1b, interleaved, zb-h1, zb-h2, zb-v, dualpipe")
      ->type_name("NAME")
      ->check(CLI::IsMember(schedule_names()))
      ->group(what);
  verb.add_option("--recompute", options.recompute,
                  "Activations computed again in the backward: none, selective or full")
      ->type_name("NAME")
      ->check(CLI::IsMember({"none", "selective", "full"}))
      ->group(what);
  verb.add_flag("--sequence-parallel", options.sequence_parallel,
                "Norms and residuals cut along the sequence over the tensor-parallel ranks")
      ->group(what);
  verb.add_flag("--no-overlap", options.no_overlap, "Gradients reduced after the last backward")->group(what);
  verb.add_option(
          "--precision", options.precision,
          "fp32; tf32: products by tensor cores, all else fp32 (on GPUs); bf16, fp16: weights and activations in "
          "it, gradients and optimizer in fp32; fp8, mxfp8, nvfp4: products of layers in it, the rest as bf16 (default "
          "fp32 for a profile, bf16 for a cluster)")
      ->type_name("TYPE")
      ->check(CLI::IsMember({"fp32", "tf32", "bf16", "fp16", "fp8", "mxfp8", "nvfp4"}))
      ->group("How numbers are held");
  verb.add_flag("--strict-reduction", options.strict_reduction, "Gradients summed in rank order, not around the ring")
      ->group("How numbers are held");
}

Layout base_layout(const LayoutOptions& options, const std::string& precision) {
  Layout layout;
  const std::string types = options.precision.value_or(precision);
  if (types == "tf32") {
    layout.compute_type = DataType::kTf32;
  } else if (types == "fp16") {
    layout.compute_type = layout.parameter_type = layout.communication_type = DataType::kFp16;
  } else if (types != "fp32") {
    layout.compute_type = types == "fp8"     ? DataType::kFp8
                          : types == "mxfp8" ? DataType::kMxFp8
                          : types == "nvfp4" ? DataType::kNvFp4
                                             : DataType::kBf16;
    layout.parameter_type = DataType::kBf16;
    layout.communication_type = DataType::kBf16;
  }
  layout.strict_reduction = options.strict_reduction;
  return layout;
}

bool wanted(const LayoutOptions& options, const Layout& layout) {
  const auto agrees = [](const auto& asked, const auto& value) { return !asked || *asked == value; };
  if (layout.tensor > options.most_tensor.value_or(layout.tensor) ||
      layout.pipeline > options.most_pipeline.value_or(layout.pipeline)) {
    return false;
  }
  return agrees(options.context, layout.context) && agrees(options.expert, layout.expert) &&
         agrees(options.tensor, layout.tensor) && agrees(options.pipeline, layout.pipeline) &&
         agrees(options.data, layout.data) && agrees(options.zero, layout.zero_stage) &&
         agrees(options.micro_batch, layout.micro_batch) && agrees(options.schedule, to_string(layout.schedule)) &&
         agrees(options.recompute, to_string(layout.recompute)) &&
         (!options.sequence_parallel || layout.sequence_parallel) &&
         (!options.no_overlap || !layout.overlap_gradient_reduce);
}

}  // namespace trainyard::cli
