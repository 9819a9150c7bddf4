#include "gui/app/start_page.h"

#include <QCommandLinkButton>
#include <QDateTime>
#include <QFileInfo>
#include <QLabel>
#include <QPushButton>
#include <QScrollArea>
#include <QThread>
#include <QVBoxLayout>

#include "core/error.h"
#include "gui/session/examples.h"

namespace trainyard::gui {

namespace {

constexpr int kWidth = 640;

QLabel* heading(const QString& text, double size) {
  auto* label = new QLabel(text);
  QFont font = label->font();
  font.setPointSizeF(font.pointSizeF() * size);
  font.setBold(true);
  label->setFont(font);
  return label;
}

QLabel* paragraph(const QString& text) {
  auto* label = new QLabel(text);
  label->setWordWrap(true);
  return label;
}

// Of an autosave: the name that its study had.
QString restored_name(const QString& file) {
  try {
    return QString::fromStdString(read_study(file.toStdString()).name);
  } catch (const Error&) {
    return QFileInfo(file).fileName();
  }
}

}  // namespace

StartPage::StartPage(QWidget* parent) : QWidget(parent) {
  auto* outer = new QVBoxLayout(this);
  outer->setContentsMargins(0, 0, 0, 0);
  auto* scroll = new QScrollArea;
  scroll->setWidgetResizable(true);
  scroll->setFrameShape(QFrame::NoFrame);
  outer->addWidget(scroll);
  auto* content = new QWidget;
  auto* across = new QHBoxLayout(content);
  auto* middle = new QWidget;
  middle->setMaximumWidth(kWidth);
  across->addStretch(1);
  across->addWidget(middle, 4);
  across->addStretch(1);
  auto* column = new QVBoxLayout(middle);
  column->addSpacing(24);
  column->addWidget(heading(tr("Trainyard"), 2.0));
  column->addWidget(paragraph(
      tr("Which layouts of a model fit a cluster, how fast each trains, why the best wins, what failures leave of it; "
         "and the plan really run on this machine.")));
  left_behind_ = new QWidget;
  new QVBoxLayout(left_behind_);
  column->addWidget(left_behind_);
  column->addSpacing(8);
  column->addWidget(heading(tr("Begin with an example"), 1.2));
  for (const Example& example : example_studies(QThread::idealThreadCount())) {
    auto* button = new QCommandLinkButton(example.title, example.what);
    button->setAccessibleDescription(example.what);
    connect(button, &QCommandLinkButton::clicked, this,
            [this, study = example.study] { Q_EMIT example_chosen(study); });
    column->addWidget(button);
  }
  column->addSpacing(8);
  column->addWidget(heading(tr("Or with your own files"), 1.2));
  column->addWidget(paragraph(tr(
      "Drop them anywhere on this window: a Hugging Face config.json, a topology file (NCCL XML, ibnetdiscover, "
      "nvidia-smi topo -m, Slurm topology.conf and others), plan.json, a run's record, a failure profile, a study.")));
  auto* open = new QPushButton(tr("Open a file…"));
  connect(open, &QPushButton::clicked, this, &StartPage::open_asked);
  auto* line = new QHBoxLayout;
  line->addWidget(open);
  line->addStretch(1);
  column->addLayout(line);
  recent_ = new QWidget;
  new QVBoxLayout(recent_);
  column->addWidget(recent_);
  column->addStretch(1);
  scroll->setWidget(content);
  show_recent({});
  show_left_behind({});
}

void StartPage::show_recent(const QStringList& files) { fill(recent_, files, false); }
void StartPage::show_left_behind(const QStringList& files) { fill(left_behind_, files, true); }

void StartPage::fill(QWidget* list, const QStringList& files, bool restore) {
  while (QLayoutItem* item = list->layout()->takeAt(0)) {
    item->widget()->deleteLater();
    delete item;
  }
  list->setVisible(!files.isEmpty());
  if (files.isEmpty()) {
    return;
  }
  list->layout()->setContentsMargins(0, 8, 0, 0);
  list->layout()->addWidget(heading(restore ? tr("Not saved when Trainyard ended last time") : tr("Recent"), 1.2));
  for (const QString& file : files) {
    const QFileInfo info(file);
    auto* button = new QCommandLinkButton(
        restore ? tr("Restore “%1”").arg(restored_name(file)) : info.fileName(),
        restore ? tr("as of %1").arg(QLocale().toString(info.lastModified(), QLocale::ShortFormat))
                : info.absolutePath());
    connect(button, &QCommandLinkButton::clicked, this, [this, file, restore] {
      if (restore) {
        Q_EMIT restore_chosen(file);
      } else {
        Q_EMIT file_chosen(file);
      }
    });
    list->layout()->addWidget(button);
  }
  if (restore) {
    auto* forget = new QPushButton(files.size() == 1 ? tr("Throw it away") : tr("Throw these away"));
    forget->setSizePolicy(QSizePolicy::Maximum, QSizePolicy::Fixed);
    connect(forget, &QPushButton::clicked, this, &StartPage::forget_chosen);
    list->layout()->addWidget(forget);
  }
}

}  // namespace trainyard::gui
