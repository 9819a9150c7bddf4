// A file that somebody drops or opens: what it is, by its content, and what becomes of it in the study.
#pragma once

#include <QString>
#include <cstdint>
#include <string>

namespace trainyard::gui {

class Session;

enum class FileKind : std::uint8_t {
  kStudy,
  kModel,     // Hugging Face's config.json
  kTopology,  // any that core/import knows
  kCluster,   // of published numbers
  kProfile,   // of this machine
  kPlan,
  kRun,  // a run's folder, or its record
  kFailures,
};

// Throws Error for a file that can't be read or is none of these, saying what it looks like.
FileKind kind_of_file(const std::string& path);

// Takes the file into the session and says what was done. A study replaces the one at hand (ask before); all else is
// one undoable step, or a row of Runs. Throws Error, and nothing has changed then.
QString import_file(const QString& path, Session& session);

}  // namespace trainyard::gui
