// A line below the menus that says what was done or what went wrong; it stays until closed or replaced.
#pragma once

#include <QFrame>

class QLabel;

namespace trainyard::gui {

class MessageBar : public QFrame {
  Q_OBJECT

 public:
  explicit MessageBar(QWidget* parent = nullptr);
  void say(const QString& text);
  void warn(const QString& text);
  void clear();
  QString text() const;

 Q_SIGNALS:
  void shown(bool yes);

 protected:
  void resizeEvent(QResizeEvent* event) override;

 private:
  void show_text(const QString& text, bool bad);
  void fit_height_later();

  QLabel* mark_;
  QLabel* label_;
};

}  // namespace trainyard::gui
