#include "gui/session/study_document.h"

#include <signal.h>

#include <QCoreApplication>
#include <QDir>
#include <QFile>
#include <QFileInfo>
#include <QUndoCommand>
#include <cerrno>
#include <utility>

#include "core/error.h"

namespace trainyard::gui {

namespace {

constexpr int kAutosaveMilliseconds = 2000;
constexpr int kRetryMilliseconds = 30'000;

bool lives(qint64 process) { return ::kill(static_cast<pid_t>(process), 0) == 0 || errno == EPERM; }

}  // namespace

class StudyDocument::Edit : public QUndoCommand {
 public:
  Edit(StudyDocument& document, Field field, const QString& text, Study before, Study after)
      : QUndoCommand(text), document_(document), field_(field), before_(std::move(before)), after_(std::move(after)) {}

  void undo() override { document_.set(before_); }
  void redo() override { document_.set(after_); }
  int id() const override { return static_cast<int>(field_); }

  // Typing into one field is one step; stars and runs are a step each.
  bool mergeWith(const QUndoCommand* other) override {
    const auto& next = *static_cast<const Edit*>(other);
    if (field_ == Field::kMarks || next.field_ != field_) {
      return false;
    }
    after_ = next.after_;
    setText(next.text());
    setObsolete(after_ == before_);
    return true;
  }

 private:
  StudyDocument& document_;
  Field field_;
  Study before_;
  Study after_;
};

StudyDocument::StudyDocument(QObject* parent) : QObject(parent) {
  autosave_timer_.setSingleShot(true);
  connect(&autosave_timer_, &QTimer::timeout, this, &StudyDocument::autosave_now);
}

bool StudyDocument::modified() const { return !undo_.isClean(); }

void StudyDocument::edit(Field field, const QString& text, const std::function<void(Study&)>& change) {
  Study after = study_;
  change(after);
  if (after != study_) {
    undo_.push(new Edit(*this, field, text, study_, std::move(after)));
  }
}

void StudyDocument::set(const Study& study) {
  const bool same = same_question(study_, study);
  study_ = study;
  if (!autosave_.isEmpty()) {
    autosave_timer_.start(kAutosaveMilliseconds);
  }
  Q_EMIT study_changed();
  if (!same) {
    Q_EMIT inputs_changed();
  }
}

void StudyDocument::replace(const Study& study, const QString& file) {
  undo_.clear();
  undo_.setClean();
  remove_autosave();
  study_ = study;
  saved_ = study;
  file_ = file;
  Q_EMIT replaced();
  Q_EMIT file_changed();
  Q_EMIT study_changed();
  Q_EMIT inputs_changed();
}

void StudyDocument::open(const QString& file) { replace(read_study(file.toStdString()), file); }

void StudyDocument::save_to(const QString& file) {
  write_study(study_, file.toStdString());
  saved_ = study_;
  file_ = file;
  undo_.setClean();
  remove_autosave();
  Q_EMIT file_changed();
}

bool StudyDocument::changed_on_disk() const {
  if (file_.isEmpty() || !QFile::exists(file_)) {
    return false;
  }
  try {
    return read_study(file_.toStdString()) != saved_;
  } catch (const Error&) {
    return true;  // no study any more, or not readable
  }
}

bool StudyDocument::mark_unsaved() {
  undo_.resetClean();
  const bool kept = autosave_now();
  Q_EMIT study_changed();
  return kept;
}

void StudyDocument::set_autosave_folder(const QString& folder) {
  remove_autosave();
  autosave_.clear();
  if (!folder.isEmpty()) {
    autosave_ =
        QDir(folder).absoluteFilePath(QStringLiteral("autosave-%1.study.json").arg(QCoreApplication::applicationPid()));
  }
}

bool StudyDocument::autosave_now() {
  if (autosave_.isEmpty()) {
    return false;
  }
  try {
    QDir().mkpath(QFileInfo(autosave_).absolutePath());
    write_study(study_, autosave_.toStdString());
    autosave_fails_ = false;
    return true;
  } catch (const Error& error) {
    autosave_timer_.start(kRetryMilliseconds);  // a full disk may have room later
    if (!std::exchange(autosave_fails_, true)) {
      Q_EMIT autosave_failed(QString::fromUtf8(error.what()));
    }
    return false;
  }
}

void StudyDocument::remove_autosave() {
  autosave_timer_.stop();
  if (!autosave_.isEmpty()) {
    QFile::remove(autosave_);
  }
}

QStringList StudyDocument::left_behind(const QString& folder) {
  QStringList left;
  const QDir where(folder);
  for (const QString& name : where.entryList({QStringLiteral("autosave-*.study.json")}, QDir::Files, QDir::Time)) {
    const qint64 process = name.section(QLatin1Char('-'), 1).section(QLatin1Char('.'), 0, 0).toLongLong();
    if (process > 0 && !lives(process)) {
      left << where.absoluteFilePath(name);
    }
  }
  return left;
}

}  // namespace trainyard::gui
