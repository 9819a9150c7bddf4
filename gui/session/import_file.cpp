#include "gui/session/import_file.h"

#include <QDir>
#include <QFileInfo>
#include <QObject>
#include <QStandardPaths>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "core/cluster/builder.h"
#include "core/document/content_hash.h"
#include "core/document/json_document.h"
#include "core/document/read_file.h"
#include "core/document/write_file.h"
#include "core/error.h"
#include "core/import/detect.h"
#include "core/import/import_topology.h"
#include "core/layout/layout_text.h"
#include "core/model/huggingface.h"
#include "core/plan/device_profile.h"
#include "core/plan/plan.h"
#include "core/plan/shipped.h"
#include "gui/session/session.h"
#include "simulator/failure/failure_profile.h"

namespace trainyard::gui {

namespace {

namespace fs = std::filesystem;

constexpr const char* kKnown =
    "Trainyard opens studies, config.json, topology files, plan.json, runs, device profiles and failure profiles";

FileKind kind_of_document(const std::string& name, const std::string& path) {
  if (name == "study") {
    return FileKind::kStudy;
  }
  if (name == "plan") {
    return FileKind::kPlan;
  }
  if (name == "device_profile") {
    return FileKind::kProfile;
  }
  if (name == "cluster") {
    return FileKind::kCluster;
  }
  if (name == "failure_profile") {
    return FileKind::kFailures;
  }
  if (name == "run_record") {
    return FileKind::kRun;
  }
  if (name == "topology") {
    return FileKind::kTopology;
  }
  if (name == "trace") {
    std::error_code ignored;
    if (fs::exists(fs::path(path).parent_path() / "record.jsonl", ignored)) {
      return FileKind::kRun;
    }
    throw Error(
        "a trace without its run", path,
        "open the run's folder, which has plan.json and record.jsonl beside it; or `trainyard trace FILE --chrome "
        "OUT` and ui.perfetto.dev");
  }
  throw Error("a document of kind \"" + name + "\", which no study takes", path, kKnown);
}

bool is_record(const std::string& text) {
  const std::string first = text.substr(0, text.find('\n'));
  const nlohmann::json line = nlohmann::json::parse(first, nullptr, false);
  return line.is_object() && line.contains("record");
}

// Of a run: its folder where the file is the trace in it.
std::string run_of(const std::string& file) {
  std::error_code ignored;
  return fs::is_directory(file, ignored) || is_record(read_text_file(file)) ? file
                                                                            : fs::path(file).parent_path().string();
}

// The model of a plan, as a config.json that the study can name.
std::string kept_config(const ModelSpec& model) {
  const QString folder = QStandardPaths::writableLocation(QStandardPaths::AppDataLocation) + QStringLiteral("/models");
  QDir().mkpath(folder);
  const std::string config = huggingface_config(model);
  const std::string hash = content_hash(config);
  const fs::path file = fs::path(folder.toStdString()) / (model.name + "-" + hash.substr(hash.size() - 8) + ".json");
  write_file(file, config);
  return file.string();
}

bool is_shipped(const std::string& name, std::span<const ShippedFile> files) {
  return std::ranges::any_of(files, [&](const ShippedFile& file) { return file.name == name; });
}

void take_plan(const Plan& plan, Study& study) {
  study.model = is_shipped(plan.model.name, shipped_models()) && open_model(plan.model.name) == plan.model
                    ? plan.model.name
                    : kept_config(plan.model);
  if (is_shipped(plan.cluster.name, shipped_clusters()) || names_builder(plan.cluster.name)) {
    study.machine = plan.cluster.name;
  } else if (plan.cluster.device == "cpu") {
    study.machine = kThisMachine;
  }
  if (std::ranges::find(kPrecisions, plan.layout.compute_type) != kPrecisions.end()) {
    study.precision = to_string(plan.layout.compute_type);
  }
  study.ranks = plan.layout.ranks();
  study.sequence = plan.training.sequence;
  study.global_batch = plan.training.global_batch;
  study.steps = plan.training.steps;
  const std::string text = layout_text(plan.layout);
  if (std::ranges::find(study.starred, text) == study.starred.end()) {
    study.starred.push_back(text);
  }
}

QString name_of(const QString& path) { return QFileInfo(path).fileName(); }

}  // namespace

FileKind kind_of_file(const std::string& path) {
  std::error_code ignored;
  if (fs::is_directory(path, ignored)) {
    if (fs::exists(fs::path(path) / "record.jsonl", ignored)) {
      return FileKind::kRun;
    }
    throw Error("a folder without record.jsonl: no run", path, kKnown);
  }
  const std::string text = read_text_file(path);
  const nlohmann::json json = nlohmann::json::parse(text, nullptr, false);
  if (json.is_object() && json.contains("document") && json["document"].is_string()) {
    return kind_of_document(json["document"].get<std::string>(), path);
  }
  if (json.is_object() && (json.contains("model_type") || json.contains("num_hidden_layers"))) {
    return FileKind::kModel;
  }
  if (is_record(text)) {
    return FileKind::kRun;
  }
  const TopologyKind kind = detect_topology(text);
  if (static_cast<int>(kind) < kTopologyKinds) {
    return FileKind::kTopology;
  }
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  if (json.is_discarded() && first != std::string::npos && text[first] == '{') {
    static_cast<void>(parse_json(text, path));  // throws, and says where it is cut off or wrong
  }
  throw Error(kind == TopologyKind::kUnknown ? "a file of no kind that is known here"
                                             : "that is " + std::string(to_string(kind)) + ", which no study takes",
              path, kKnown);
}

QString import_file(const QString& path, Session& session) {
  const std::string file = QFileInfo(path).absoluteFilePath().toStdString();
  StudyDocument& document = session.document();
  switch (kind_of_file(file)) {
    case FileKind::kStudy:
      document.open(QString::fromStdString(file));
      return QObject::tr("Opened %1").arg(QString::fromStdString(document.study().name));
    case FileKind::kModel: {
      const ModelSpec model = read_huggingface_config(file);
      document.edit(Field::kModel, QObject::tr("take the model of %1").arg(name_of(path)),
                    [&](Study& study) { study.model = file; });
      return QObject::tr("Model: %1 layers, from %2").arg(model.layers).arg(name_of(path));
    }
    case FileKind::kTopology: {
      const Cluster cluster = read_any_topology(file);
      document.edit(Field::kMachine, QObject::tr("take the cluster of %1").arg(name_of(path)), [&](Study& study) {
        study.machine = file;
        study.accelerator.clear();
        const auto gpus = static_cast<std::int64_t>(cluster.gpus().size());
        study.ranks = gpus > 0 ? std::min(study.ranks, gpus) : study.ranks;
      });
      return QObject::tr("Cluster: %1 GPUs, from %2").arg(cluster.gpus().size()).arg(name_of(path));
    }
    case FileKind::kCluster:
      static_cast<void>(open_fabric(file));
      document.edit(Field::kMachine, QObject::tr("take the cluster of %1").arg(name_of(path)), [&](Study& study) {
        study.machine = file;
        study.accelerator.clear();
      });
      return QObject::tr("Cluster: %1").arg(name_of(path));
    case FileKind::kProfile:
      static_cast<void>(read_device_profile(file));
      document.edit(Field::kProfile, QObject::tr("take the profile %1").arg(name_of(path)), [&](Study& study) {
        study.machine = kThisMachine;
        study.accelerator.clear();
        study.profile = file;
      });
      return QObject::tr("This machine, as %1 measured it").arg(name_of(path));
    case FileKind::kPlan: {
      const Plan plan = read_plan(file);
      document.edit(Field::kModel, QObject::tr("take the plan %1").arg(name_of(path)),
                    [&](Study& study) { take_plan(plan, study); });
      return QObject::tr("Plan: %1, starred in the table").arg(QString::fromStdString(layout_text(plan.layout)));
    }
    case FileKind::kRun: {
      const int index = session.runs().open(QString::fromStdString(run_of(file)));
      const std::string folder = session.runs().runs()[static_cast<std::size_t>(index)].folder.toStdString();
      document.edit(Field::kMarks, QObject::tr("open a run"), [&](Study& study) {
        if (std::ranges::find(study.runs, folder) == study.runs.end()) {
          study.runs.push_back(folder);
        }
      });
      return QObject::tr("Run of %1 steps").arg(session.runs().runs()[static_cast<std::size_t>(index)].steps);
    }
    case FileKind::kFailures: {
      const simulator::FailureProfile profile = simulator::open_failure_profile(file);
      document.edit(Field::kFailures, QObject::tr("take the failures of %1").arg(name_of(path)),
                    [&](Study& study) { study.failures = file; });
      return QObject::tr("Failures: %1").arg(QString::fromStdString(profile.name));
    }
  }
  return {};
}

}  // namespace trainyard::gui
