// View: what a dock holds: a title, a picture that can be saved as on the screen, and the same as a table for those
// who can't see it.
#pragma once

#include <QString>
#include <QWidget>

class QAbstractItemModel;

namespace trainyard::gui {

class View : public QWidget {
  Q_OBJECT

 public:
  // name: of the dock in saved window states and in file names: "memory". title: for people: "Memory".
  View(const QString& name, const QString& title, QWidget* parent = nullptr);

  const QString& name() const { return name_; }
  const QString& title() const { return title_; }

  // The twin of the picture; null where the view is a table, or has none yet.
  virtual QAbstractItemModel* table() { return nullptr; }

  // A row of the table was chosen: what a click on its part of the picture does.
  virtual void activate_row(int /*row*/) {}

  // Write what is on the screen. Throw Error where the file can't be written.
  virtual bool has_picture() const { return true; }
  virtual void export_svg(const QString& file);
  virtual void export_png(const QString& file);
  virtual bool has_chrome_trace() const { return false; }
  virtual void export_chrome_trace(const QString& file);

  // The least height at this width. A scroll area gives a widget with wrapped text the height that it likes best, and
  // scrolls where charts could be lower.
  int heightForWidth(int width) const override;

 private:
  QString name_;
  QString title_;
};

// A table as comma-separated values: RFC 4180, headers first. Throws Error where the file can't be written.
void export_csv(const QAbstractItemModel& model, const QString& file);

}  // namespace trainyard::gui
