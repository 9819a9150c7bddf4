#include "executor/checkpoint/manifest.h"

#include <nlohmann/json.hpp>
#include <set>

#include "core/document/content_hash.h"
#include "core/document/json_document.h"
#include "core/document/write_file.h"
#include "core/error.h"
#include "core/plan/provenance_json.h"

namespace trainyard::executor {

namespace {

using nlohmann::ordered_json;

constexpr const char* kHint = "the manifest is damaged";

// All but the checksum, which is taken of this text.
ordered_json body(const CheckpointManifest& manifest) {
  ordered_json parts = ordered_json::array();
  for (const CheckpointPart& part : manifest.parts) {
    parts.push_back({{"file", part.file}, {"bytes", part.bytes.value()}, {"checksum", part.checksum}});
  }
  const CheckpointIdentity& identity = manifest.identity;
  ordered_json json = {{"document", "checkpoint"},
                       {"schema", kCheckpointSchema},
                       {"step", manifest.step},
                       {"identity",
                        {{"model", identity.model},
                         {"layout", identity.layout},
                         {"training", identity.training},
                         {"program", identity.program},
                         {"data", identity.data}}},
                       {"threads_per_rank", manifest.threads_per_rank}};
  if (manifest.loss_scale) {
    json["loss_scale"] = {{"scale", manifest.loss_scale->scale},
                          {"good_steps", manifest.loss_scale->good_steps},
                          {"skipped_steps", manifest.loss_scale->skipped_steps}};
  }
  json["parts"] = parts;
  json["provenance"] = provenance_json(manifest.provenance);
  return json;
}

LossScaleState read_loss_scale(ObjectReader reader) {
  LossScaleState state;
  state.scale = reader.number("scale");
  state.good_steps = reader.integer("good_steps");
  state.skipped_steps = reader.integer("skipped_steps");
  reader.finish();
  return state;
}

CheckpointIdentity read_identity(ObjectReader reader) {
  CheckpointIdentity identity;
  identity.model = reader.text("model");
  identity.layout = reader.text("layout");
  identity.training = reader.text("training");
  identity.program = reader.text("program");
  identity.data = reader.text("data");
  reader.finish();
  return identity;
}

std::vector<CheckpointPart> read_parts(ObjectReader& reader) {
  std::vector<CheckpointPart> parts;
  std::set<std::string> names;
  reader.for_each_object("parts", [&](ObjectReader& part) {
    CheckpointPart read{part.text("file"), ByteCount(part.integer("bytes")), part.text("checksum")};
    if (std::filesystem::path(read.file).filename() != read.file || !names.insert(read.file).second) {
      part.fail("file", "\"" + read.file + "\" is not a file of its own in the checkpoint's folder", kHint);
    }
    parts.push_back(std::move(read));
    part.finish();
  });
  return parts;
}

}  // namespace

CheckpointIdentity checkpoint_identity(const Plan& plan, const std::string& program_hash,
                                       const std::string& data_hash) {
  const ordered_json json = ordered_json::parse(to_json(plan));
  return {.model = content_hash(json["model"].dump()),
          .layout = content_hash(json["layout"].dump()),
          .training = content_hash(json["training"].dump()),
          .program = program_hash,
          .data = data_hash};
}

void require_same(const CheckpointIdentity& run, const CheckpointIdentity& checkpoint, const std::string& where) {
  const auto require = [&](const std::string& a, const std::string& b, const std::string& what,
                           const std::string& hint) {
    if (a != b) {
      throw Error("was saved by a run with another " + what, where, hint);
    }
  };
  const std::string plan_hint = "resume with the plan that began the run: plan.json in its folder";
  require(run.model, checkpoint.model, "model", plan_hint);
  require(run.layout, checkpoint.layout, "layout", plan_hint);
  require(run.training, checkpoint.training, "\"training\" in its plan", plan_hint);
  require(run.program, checkpoint.program, "program for the same plan",
          "it was saved by another version of trainyard; resume with that version");
  require(run.data, checkpoint.data, "text", "give --data the text that the run began with");
}

ByteCount CheckpointManifest::bytes() const {
  ByteCount sum;
  for (const CheckpointPart& part : parts) {
    sum += part.bytes;
  }
  return sum;
}

std::filesystem::path manifest_file(const std::filesystem::path& checkpoint) { return checkpoint / "manifest.json"; }

void write_manifest(const CheckpointManifest& manifest, const std::filesystem::path& checkpoint) {
  ordered_json json = body(manifest);
  json["checksum"] = content_hash(body(manifest).dump());
  write_file(manifest_file(checkpoint), json.dump(2) + "\n");
}

CheckpointManifest read_manifest(const std::filesystem::path& checkpoint) {
  const std::filesystem::path file = manifest_file(checkpoint);
  ObjectReader root = read_json_object(file);
  root.document("checkpoint", kCheckpointSchema);
  CheckpointManifest manifest;
  manifest.step = root.integer("step");
  manifest.identity = read_identity(root.object("identity"));
  manifest.threads_per_rank = root.integer("threads_per_rank", 1);
  if (std::optional<ObjectReader> loss_scale = root.optional_object("loss_scale")) {
    manifest.loss_scale = read_loss_scale(*std::move(loss_scale));
  }
  manifest.parts = read_parts(root);
  manifest.provenance = read_provenance(root);
  const std::string checksum = root.text("checksum");
  root.finish();
  if (checksum != content_hash(body(manifest).dump())) {
    throw Error("doesn't match its checksum", file.string(), kHint);
  }
  return manifest;
}

}  // namespace trainyard::executor
