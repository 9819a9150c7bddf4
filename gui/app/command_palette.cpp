#include "gui/app/command_palette.h"

#include <QAction>
#include <QDialogButtonBox>
#include <QHeaderView>
#include <QKeyEvent>
#include <QLineEdit>
#include <QListWidget>
#include <QMenu>
#include <QTableWidget>
#include <QVBoxLayout>
#include <algorithm>
#include <array>
#include <utility>

namespace trainyard::gui {

namespace {

QString name_of(const QAction& action) {
  QString text = action.text();
  return text.remove(QLatin1Char('&')).remove(QStringLiteral("…"));
}

struct Key {
  const char* keys;
  const char* what;
};

// Of views that paint; they aren't actions.
constexpr std::array kViewKeys = {
    Key{"W, S", "Timeline, Topology: zoom in, out"},
    Key{"A, D", "Timeline, Topology: to the left, to the right"},
    Key{"F", "Timeline, Topology: centre what is selected; again: fit it"},
    Key{"0", "Timeline, Topology: fit all"},
    Key{". and ,", "Timeline: next, previous slice; Topology: next, previous switch (Enter: what if it fails)"},
    Key{"Up, Down", "Timeline: the slice above, below"},
    Key{"P", "Timeline: pin the row"},
    Key{"O", "Timeline: a row for each measured rank, or one for all"},
    Key{"+ and -", "Timeline: taller, lower rows; Topology: zoom in, out"},
    Key{"Escape", "Timeline, Topology: select nothing"},
    Key{"Arrows, Enter", "Charts: from part to part, and open it"},
};

}  // namespace

bool letters_in_order(const QString& letters, const QString& text) {
  qsizetype from = 0;
  for (const QChar letter : letters) {
    if (letter.isSpace()) {
      continue;
    }
    from = text.indexOf(letter, from, Qt::CaseInsensitive);
    if (from < 0) {
      return false;
    }
    ++from;
  }
  return true;
}

std::vector<QAction*> all_actions(const QWidget& window) {
  std::vector<QAction*> actions;
  for (QAction* action : window.findChildren<QAction*>()) {
    const bool known = std::find_if(actions.begin(), actions.end(), [action](const QAction* other) {
                         return name_of(*other) == name_of(*action);
                       }) != actions.end();
    if (!action->text().isEmpty() && !action->isSeparator() && action->menu() == nullptr && !known &&
        !action->objectName().startsWith(QLatin1Char('_'))) {
      actions.push_back(action);
    }
  }
  std::sort(actions.begin(), actions.end(),
            [](const QAction* a, const QAction* b) { return name_of(*a).localeAwareCompare(name_of(*b)) < 0; });
  return actions;
}

CommandPalette::CommandPalette(std::vector<QAction*> actions, QWidget* parent)
    : QDialog(parent), actions_(std::move(actions)), line_(new QLineEdit), list_(new QListWidget) {
  setWindowTitle(tr("Commands"));
  auto* column = new QVBoxLayout(this);
  line_->setPlaceholderText(tr("Type some letters of a command"));
  line_->setAccessibleName(tr("Command"));
  list_->setAccessibleName(tr("Commands found"));
  column->addWidget(line_);
  column->addWidget(list_);
  constexpr QSize kSize(520, 380);
  resize(kSize);
  line_->installEventFilter(this);
  connect(line_, &QLineEdit::textChanged, this, &CommandPalette::show_matches);
  connect(list_, &QListWidget::itemActivated, this, &CommandPalette::run_current);
  show_matches({});
}

bool CommandPalette::eventFilter(QObject* object, QEvent* event) {
  if (object == line_ && event->type() == QEvent::KeyPress) {
    const int key = static_cast<QKeyEvent*>(event)->key();
    if (key == Qt::Key_Up || key == Qt::Key_Down) {
      const int by = key == Qt::Key_Down ? 1 : -1;
      list_->setCurrentRow(std::clamp(list_->currentRow() + by, 0, std::max(0, list_->count() - 1)));
      return true;
    }
    if (key == Qt::Key_Return || key == Qt::Key_Enter) {
      run_current();
      return true;
    }
  }
  return QDialog::eventFilter(object, event);
}

void CommandPalette::show_matches(const QString& typed) {
  list_->clear();
  for (std::size_t i = 0; i < actions_.size(); ++i) {
    const QAction& action = *actions_[i];
    if (!letters_in_order(typed, name_of(action))) {
      continue;
    }
    const QString keys = action.shortcut().toString(QKeySequence::NativeText);
    auto* item =
        new QListWidgetItem(keys.isEmpty() ? name_of(action) : name_of(action) + QStringLiteral("    ") + keys);
    item->setData(Qt::UserRole, static_cast<int>(i));
    item->setToolTip(action.toolTip());
    if (!action.isEnabled()) {
      item->setFlags(item->flags() & ~Qt::ItemIsEnabled);
    }
    // Those whose name holds the text as it stands come first.
    if (!typed.isEmpty() && name_of(action).contains(typed, Qt::CaseInsensitive)) {
      list_->insertItem(0, item);
    } else {
      list_->addItem(item);
    }
  }
  list_->setCurrentRow(0);
}

void CommandPalette::run_current() {
  const QListWidgetItem* item = list_->currentItem();
  if (item == nullptr) {
    return;
  }
  QAction* action = actions_[static_cast<std::size_t>(item->data(Qt::UserRole).toInt())];
  accept();
  action->trigger();
}

void show_keys(const std::vector<QAction*>& actions, QWidget* parent) {
  QDialog dialog(parent);
  dialog.setWindowTitle(QObject::tr("Keys"));
  auto* table = new QTableWidget(0, 2);
  table->setAccessibleName(QObject::tr("Keys"));
  table->setHorizontalHeaderLabels({QObject::tr("Keys"), QObject::tr("What they do")});
  table->verticalHeader()->hide();
  table->setEditTriggers(QAbstractItemView::NoEditTriggers);
  const auto add = [table](const QString& keys, const QString& what) {
    const int row = table->rowCount();
    table->insertRow(row);
    table->setItem(row, 0, new QTableWidgetItem(keys));
    table->setItem(row, 1, new QTableWidgetItem(what));
  };
  for (const QAction* action : actions) {
    if (!action->shortcut().isEmpty()) {
      add(action->shortcut().toString(QKeySequence::NativeText), name_of(*action));
    }
  }
  for (const Key& key : kViewKeys) {
    add(QObject::tr(key.keys), QObject::tr(key.what));
  }
  table->resizeColumnsToContents();
  table->horizontalHeader()->setStretchLastSection(true);
  auto* column = new QVBoxLayout(&dialog);
  column->addWidget(table);
  auto* buttons = new QDialogButtonBox(QDialogButtonBox::Close);
  QObject::connect(buttons, &QDialogButtonBox::rejected, &dialog, &QDialog::reject);
  column->addWidget(buttons);
  constexpr QSize kSize(560, 520);
  dialog.resize(kSize);
  dialog.exec();
}

}  // namespace trainyard::gui
