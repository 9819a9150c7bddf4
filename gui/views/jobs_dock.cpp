#include "gui/views/jobs_dock.h"

#include <QHBoxLayout>
#include <QHeaderView>
#include <QPainter>
#include <QPushButton>
#include <QStyledItemDelegate>
#include <QTableView>
#include <QVBoxLayout>

#include "gui/paint/theme.h"
#include "gui/views/row_table.h"

namespace trainyard::gui {

namespace {

// A bar behind the number.
class ProgressDelegate : public QStyledItemDelegate {
 public:
  using QStyledItemDelegate::QStyledItemDelegate;

  void paint(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& index) const override {
    const QVariant fraction = index.data(JobsModel::kFractionRole);
    if (fraction.isValid() && index.data(JobsModel::kStateRole).toInt() == static_cast<int>(JobState::kRunning)) {
      constexpr int kMargin = 3;
      QRectF bar = option.rect.adjusted(kMargin, kMargin, -kMargin, -kMargin);
      const Theme theme = current(option.palette);
      painter->fillRect(bar, theme.grid);
      bar.setWidth(bar.width() * fraction.toDouble());
      QColor colour = theme.selection;
      constexpr float kPale = 0.45F;  // so that the number stays readable on it
      colour.setAlphaF(kPale);
      painter->fillRect(bar, colour);
    }
    QStyledItemDelegate::paint(painter, option, index);
  }
};

}  // namespace

JobsDock::JobsDock(Session& session, QWidget* parent)
    : View(QStringLiteral("jobs"), tr("Jobs"), parent),
      session_(session),
      model_(new JobsModel(session.jobs(), this)),
      view_(make_row_table(model_, tr("Jobs"))),
      cancel_(new QPushButton(tr("Cancel"))) {
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(6, 6, 6, 0);
  auto* line = new QHBoxLayout;
  line->addWidget(cancel_);
  cancel_->setToolTip(tr("End the selected job; of the search, what it has found so far stays"));
  auto* forget = new QPushButton(tr("Clear ended ones"));
  line->addWidget(forget);
  line->addStretch(1);
  column->addLayout(line);
  setFocusProxy(view_);
  view_->setItemDelegateForColumn(JobsModel::kProgress, new ProgressDelegate(view_));
  const int letter = view_->fontMetrics().averageCharWidth();
  view_->setColumnWidth(JobsModel::kTitle, 60 * letter);
  view_->setColumnWidth(JobsModel::kProgress, 14 * letter);
  view_->setColumnWidth(JobsModel::kTime, 22 * letter);
  view_->horizontalHeader()->setStretchLastSection(true);
  column->addWidget(view_);
  connect(cancel_, &QPushButton::clicked, this, [this] {
    const JobInfo* job = model_->job(view_->currentIndex().row());
    if (job != nullptr) {
      session_.cancel_job(job->id);
    }
  });
  connect(forget, &QPushButton::clicked, &session_.jobs(), &JobQueue::forget_ended);
  connect(view_->selectionModel(), &QItemSelectionModel::currentChanged, this, &JobsDock::show_buttons);
  connect(&session_.jobs(), &JobQueue::job_changed, this, &JobsDock::show_buttons);
  show_buttons();
}

void JobsDock::show_buttons() {
  const JobInfo* job = model_->job(view_->currentIndex().row());
  cancel_->setEnabled(job != nullptr && job->state < JobState::kDone);
}

}  // namespace trainyard::gui
