// StudyDocument: the study that is open, every change of it undoable, its file and its autosave.
//
// The autosave is a study beside no other: one file a process in the autosave folder, written two seconds after a
// change and removed by a clean end. What a crash leaves there is offered at the next start.
#pragma once

#include <QObject>
#include <QString>
#include <QTimer>
#include <QUndoStack>
#include <functional>

#include "gui/session/study.h"

namespace trainyard::gui {

class StudyDocument : public QObject {
  Q_OBJECT

 public:
  explicit StudyDocument(QObject* parent = nullptr);

  const Study& study() const { return study_; }
  QUndoStack& undo_stack() { return undo_; }
  const QString& file() const { return file_; }  // empty: not saved yet
  bool modified() const;

  // One undoable step, named `text`; edits of one field that follow each other are one step. No change: no step.
  void edit(Field field, const QString& text, const std::function<void(Study&)>& change);

  // Another study; undo begins anew. `file`: where save() writes; empty for examples and restored ones.
  void replace(const Study& study, const QString& file);
  void open(const QString& file);     // throws Error
  void save_to(const QString& file);  // throws Error
  // Whether somebody else has written the file since it was opened or saved here.
  bool changed_on_disk() const;
  // As after an edit: to be saved, and autosaved at once. What a crash left is. False: the autosave failed.
  bool mark_unsaved();

  void set_autosave_folder(const QString& folder);  // empty: none
  bool autosave_now();                              // whether the folder has it now
  void remove_autosave();
  // Files that processes which no longer live have left, newest first.
  static QStringList left_behind(const QString& folder);

 Q_SIGNALS:
  void inputs_changed();  // what a search depends on
  void study_changed();   // anything
  void replaced();        // a whole other study
  void file_changed();
  void autosave_failed(const QString& why);  // the first of several failures; goes on trying

 private:
  class Edit;
  friend class Edit;
  void set(const Study& study);

  Study study_;
  QUndoStack undo_;
  Study saved_;  // as file_ had it last
  QString file_;
  QString autosave_;
  bool autosave_fails_ = false;
  QTimer autosave_timer_;
};

}  // namespace trainyard::gui
