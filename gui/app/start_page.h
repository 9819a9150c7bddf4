// The first page: example studies, recent ones, what a crash has left, and what can be dropped.
#pragma once

#include <QString>
#include <QStringList>
#include <QWidget>

#include "gui/session/study.h"

class QVBoxLayout;

namespace trainyard::gui {

class StartPage : public QWidget {
  Q_OBJECT

 public:
  explicit StartPage(QWidget* parent = nullptr);
  void show_recent(const QStringList& files);
  void show_left_behind(const QStringList& files);

 Q_SIGNALS:
  void example_chosen(const trainyard::gui::Study& study);
  void file_chosen(const QString& file);
  void restore_chosen(const QString& file);
  void forget_chosen();  // all that a crash has left
  void open_asked();

 private:
  void fill(QWidget* list, const QStringList& files, bool restore);

  QWidget* recent_ = nullptr;
  QWidget* left_behind_ = nullptr;
};

}  // namespace trainyard::gui
