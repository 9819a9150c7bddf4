// The command palette: every action of the window by its name, found by typing some of its letters (Ctrl+Shift+P); and
// the list of keys ("?").
#pragma once

#include <QDialog>
#include <vector>

class QAction;
class QLineEdit;
class QListWidget;

namespace trainyard::gui {

class CommandPalette : public QDialog {
  Q_OBJECT

 public:
  CommandPalette(std::vector<QAction*> actions, QWidget* parent);

 protected:
  bool eventFilter(QObject* object, QEvent* event) override;

 private:
  void show_matches(const QString& typed);
  void run_current();

  std::vector<QAction*> actions_;
  QLineEdit* line_;
  QListWidget* list_;
};

// Whether the letters occur in the text in this order, whatever their case: "exsv" in "Export SVG".
bool letters_in_order(const QString& letters, const QString& text);

// A window's actions that have a text, each once; those of submenus too.
std::vector<QAction*> all_actions(const QWidget& window);

void show_keys(const std::vector<QAction*>& actions, QWidget* parent);

}  // namespace trainyard::gui
