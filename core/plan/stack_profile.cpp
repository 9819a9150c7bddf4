#include "core/plan/stack_profile.h"

#include <fmt/format.h>

#include <cstdlib>
#include <nlohmann/json.hpp>

#include "core/document/json_document.h"

namespace trainyard {

namespace {

constexpr std::array<std::string_view, kStackConstants> kNames = {
    "gemm",       "low_precision", "gemm_depth",    "gemm_overhead_s", "attention", "memory",
    "cast_bytes", "host_s",        "communication", "skew_s",          "overlap",   "token_bytes"};

// Four digits: more than a fit knows.
double rounded(double value) { return std::strtod(fmt::format("{:.4g}", value).c_str(), nullptr); }

}  // namespace

std::string_view to_string(StackConstant constant) { return kNames.at(static_cast<std::size_t>(constant)); }

std::string_view to_string(AttentionKernel kernel) {
  switch (kernel) {
    case AttentionKernel::kUnfused:
      return "unfused";
    case AttentionKernel::kFlash1:
      return "flash1";
    case AttentionKernel::kFlash2:
      return "flash2";
    case AttentionKernel::kFlash3:
      return "flash3";
    case AttentionKernel::kCudnn:
      return "cudnn";
  }
  return "?";
}

StackProfile parse_stack_profile(const std::string& text, const std::string& where) {
  ObjectReader reader = parse_json_object(text, where);
  reader.document("stack_profile", kStackProfileSchema);
  StackProfile profile;
  profile.name = reader.text("name");
  profile.date = reader.text("date");
  profile.software = reader.text("software");
  profile.generation = reader.text("generation");
  ObjectReader constants = reader.object("constants");
  for (std::size_t i = 0; i < kNames.size(); ++i) {
    profile.constants.at(i) = constants.number(kNames.at(i), 0.0, 1e9);
  }
  constants.finish();
  if (profile.constant(StackConstant::kGemm) <= 0.0 || profile.constant(StackConstant::kLowPrecision) <= 0.0 ||
      profile.constant(StackConstant::kAttention) <= 0.0 || profile.constant(StackConstant::kMemory) <= 0.0) {
    reader.fail("constants", "gemm, low_precision, attention and memory are shares of a rate: more than 0");
  }
  profile.attention =
      reader.one_of("attention_kernel", {AttentionKernel::kUnfused, AttentionKernel::kFlash1, AttentionKernel::kFlash2,
                                         AttentionKernel::kFlash3, AttentionKernel::kCudnn});
  profile.fused = reader.boolean("fused");
  profile.sliced_transfer = reader.boolean("sliced_transfer");
  profile.post_validation = reader.boolean("post_validation");
  profile.fused_accumulation = reader.boolean("fused_accumulation");
  profile.early_stop = reader.optional_boolean("early_stop").value_or(false);
  profile.band_fitted = reader.number("band_fitted", 0.0, kWidestBand);
  profile.band = reader.number("band", 0.0, kWidestBand);
  profile.band_anchored = reader.number("band_anchored", 0.0, kWidestBand);
  profile.band_experts = reader.number("band_experts", 0.0, kWidestBand);
  profile.scale = reader.optional_number("scale", 0.1, 10.0).value_or(1.0);
  if (reader.has("anchors")) {
    profile.anchors = reader.texts("anchors");
  }
  profile.sources = reader.texts("sources");
  profile.groups = reader.texts("groups");
  profile.provenance = reader.text("provenance");
  reader.finish();
  return profile;
}

std::string stack_profile_text(const StackProfile& profile) {
  nlohmann::ordered_json root;
  root["document"] = "stack_profile";
  root["schema"] = kStackProfileSchema;
  root["name"] = profile.name;
  root["date"] = profile.date;
  root["software"] = profile.software;
  root["generation"] = profile.generation;
  for (std::size_t i = 0; i < kNames.size(); ++i) {
    root["constants"][std::string(kNames.at(i))] = rounded(profile.constants.at(i));
  }
  root["attention_kernel"] = to_string(profile.attention);
  root["fused"] = profile.fused;
  root["sliced_transfer"] = profile.sliced_transfer;
  root["post_validation"] = profile.post_validation;
  root["fused_accumulation"] = profile.fused_accumulation;
  if (profile.early_stop) {
    root["early_stop"] = true;
  }
  root["band_fitted"] = rounded(profile.band_fitted);
  root["band"] = rounded(profile.band);
  root["band_anchored"] = rounded(profile.band_anchored);
  root["band_experts"] = rounded(profile.band_experts);
  if (profile.scale != 1.0) {
    root["scale"] = profile.scale;
  }
  if (!profile.anchors.empty()) {
    root["anchors"] = profile.anchors;
  }
  root["sources"] = profile.sources;
  root["groups"] = profile.groups;
  root["provenance"] = profile.provenance;
  return root.dump(2) + "\n";
}

}  // namespace trainyard
