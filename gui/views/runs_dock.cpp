#include "gui/views/runs_dock.h"

#include <QDateTime>
#include <QDir>
#include <QFileDialog>
#include <QHBoxLayout>
#include <QHeaderView>
#include <QLabel>
#include <QLineEdit>
#include <QPushButton>
#include <QSplitter>
#include <QStandardPaths>
#include <QTableView>
#include <QToolButton>
#include <QVBoxLayout>
#include <cmath>

#include "core/document/write_file.h"
#include "core/error.h"
#include "core/plan/shipped.h"
#include "core/units/format_quantity.h"
#include "gui/paint/line_chart.h"
#include "gui/paint/theme.h"
#include "gui/views/row_table.h"

namespace trainyard::gui {

namespace {

QString app_folder() { return QStandardPaths::writableLocation(QStandardPaths::AppDataLocation); }

QString quantity(Seconds time) { return QString::fromStdString(format_quantity(time)); }

Line line_of(const Run& run, const QString& name, const QColor& colour,
             const std::function<double(const StepRecord&)>& value) {
  Line line;
  line.name = name;
  line.colour = colour;
  for (const StepRecord& step : run.record.steps) {
    const double y = value(step);
    if (std::isfinite(y)) {
      line.points.push_back({static_cast<double>(step.step + 1), y, y, y});
    }
  }
  return line;
}

// Axes around all lines.
LinePlot plot_of(const QString& title, const QString& y_title, Unit unit, std::vector<Line> lines, bool from_zero) {
  LinePlot plot;
  plot.title = title;
  plot.x = {QObject::tr("step"), 1.0, 2.0, Scale::kLinear, Unit::kNone};
  double low = std::numeric_limits<double>::infinity();
  double high = 0.0;
  for (const Line& line : lines) {
    for (const LinePoint& point : line.points) {
      plot.x.high = std::max(plot.x.high, point.x);
      low = std::min(low, point.y);
      high = std::max(high, point.y);
    }
  }
  plot.y = {y_title, from_zero || low > high ? 0.0 : low, high > 0.0 ? high : 1.0, Scale::kLinear, unit};
  plot.y = rounded(plot.y);
  if (lines.size() > 1) {
    for (const Line& line : lines) {
      plot.legend.push_back(
          {line.name, {line.colour, Hatch::kNone}, line.dashed ? LegendMark::kDashes : LegendMark::kLine});
    }
  }
  plot.lines = std::move(lines);
  return plot;
}

}  // namespace

RunsDock::RunsDock(Session& session, QWidget* parent)
    : View(QStringLiteral("runs"), tr("Runs"), parent), session_(session), model_(new RunsModel(session.runs(), this)) {
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(6, 6, 6, 6);
  column->addWidget(make_controls());
  summary_ = new QLabel;
  summary_->setWordWrap(true);
  summary_->setTextInteractionFlags(Qt::TextSelectableByMouse);
  summary_->setObjectName(QStringLiteral("run-summary"));
  column->addWidget(summary_);
  view_ = make_row_table(model_, tr("Runs"));
  setFocusProxy(view_);
  const int letter = view_->fontMetrics().averageCharWidth();
  view_->setColumnWidth(RunsModel::kLayout, 30 * letter);
  view_->horizontalHeader()->setStretchLastSection(true);
  view_->setMinimumHeight(4 * view_->fontMetrics().height());
  loss_ = new LineChart(tr("Loss by step"));
  time_ = new LineChart(tr("Step time by step, measured and predicted"));
  auto* charts = new QSplitter(Qt::Horizontal);
  charts->addWidget(loss_);
  charts->addWidget(time_);
  auto* halves = new QSplitter(Qt::Vertical);
  halves->addWidget(view_);
  halves->addWidget(charts);
  halves->setStretchFactor(0, 1);
  halves->setStretchFactor(1, 3);
  column->addWidget(halves, 1);
  connect(view_->selectionModel(), &QItemSelectionModel::currentRowChanged, this, &RunsDock::show_run);
  connect(&session_.runs(), &RunList::run_added, this, [this](int index) { view_->selectRow(index); });
  connect(&session_.runs(), &RunList::run_changed, this, [this](int index) {
    if (index == current()) {
      show_run();
    }
  });
  connect(&session_.runs(), &RunList::runs_reset, this, &RunsDock::show_run);
  connect(&session_.selection(), &Selection::plan_changed, this, &RunsDock::show_controls);
  connect(&session_.results(), &Results::plans_changed, this, [this] {
    if (current() < 0) {
      show_run();
    } else {
      show_controls();
    }
  });
  connect(&session_.document(), &StudyDocument::study_changed, this, &RunsDock::show_controls);
  show_run();
}

QWidget* RunsDock::make_controls() {
  auto* controls = new QWidget;
  auto* line = new QHBoxLayout(controls);
  line->setContentsMargins(0, 0, 0, 0);
  start_ = new QPushButton(tr("Run the selected plan"));
  start_->setObjectName(QStringLiteral("run"));
  connect(start_, &QPushButton::clicked, this, &RunsDock::start_selected);
  line->addWidget(start_);
  steps_ = new QLineEdit;
  steps_->setFixedWidth(7 * fontMetrics().averageCharWidth() + 12);
  steps_->setAccessibleName(tr("Steps to run"));
  steps_->setToolTip(tr("Steps of this run; the plan's own number at most"));
  connect(steps_, &QLineEdit::textEdited, this, [this](const QString& text) {
    const qlonglong steps = text.toLongLong();
    if (steps > 0) {
      session_.document().edit(Field::kRunSteps, tr("change the steps to run"),
                               [&](Study& study) { study.run_steps = steps; });
    }
  });
  line->addWidget(steps_);
  line->addWidget(new QLabel(tr("steps on")));
  data_ = new QLineEdit;
  data_->setPlaceholderText(tr("text that comes with Trainyard"));
  data_->setAccessibleName(tr("Text to train on"));
  data_->setToolTip(
      tr("A text file to train on, read as bytes; empty: the text of Trainyard's own models, enough to see it run"));
  connect(data_, &QLineEdit::textEdited, this, [this](const QString& text) {
    session_.document().edit(Field::kText, tr("change the text"),
                             [&](Study& study) { study.data = text.toStdString(); });
  });
  line->addWidget(data_, 1);
  auto* browse = new QToolButton;
  browse->setText(QStringLiteral("…"));
  browse->setToolTip(tr("Choose a text"));
  browse->setAccessibleName(tr("Choose a text"));
  connect(browse, &QToolButton::clicked, this, [this] {
    const QString file = QFileDialog::getOpenFileName(this, tr("Text to train on"));
    if (!file.isEmpty()) {
      session_.document().edit(Field::kText, tr("change the text"),
                               [&](Study& study) { study.data = file.toStdString(); });
    }
  });
  line->addWidget(browse);
  stop_ = new QPushButton(tr("Stop"));
  stop_->setToolTip(tr("End the run; its record stays"));
  connect(stop_, &QPushButton::clicked, this, [this] {
    if (current() >= 0) {
      session_.runs().stop(current());
    }
  });
  line->addWidget(stop_);
  auto* open = new QPushButton(tr("Open a record…"));
  open->setToolTip(tr("record.jsonl of a run, here or from a cluster"));
  connect(open, &QPushButton::clicked, this, &RunsDock::open_record);
  line->addWidget(open);
  close_ = new QPushButton(tr("Close"));
  close_->setToolTip(tr("Take the run off the list, ending it if it is at work; its files stay"));
  connect(close_, &QPushButton::clicked, this, [this] {
    if (const int run = current(); run >= 0) {
      const std::string folder = session_.runs().runs()[static_cast<std::size_t>(run)].folder.toStdString();
      session_.runs().close(run);
      session_.document().edit(Field::kMarks, tr("close a run"), [&](Study& study) { std::erase(study.runs, folder); });
    }
  });
  line->addWidget(close_);
  return controls;
}

int RunsDock::current() const {
  const QModelIndex index = view_->currentIndex();
  return index.isValid() && static_cast<std::size_t>(index.row()) < session_.runs().runs().size() ? index.row() : -1;
}

// Something to train on without looking for a file: the texts of models/ that are part of the program.
std::string RunsDock::text_to_train_on() const {
  const std::string& given = session_.document().study().data;
  if (!given.empty()) {
    return given;
  }
  QDir().mkpath(app_folder());
  const std::string file = QDir(app_folder()).absoluteFilePath(QStringLiteral("models-text.txt")).toStdString();
  std::string text;
  for (const auto files : {shipped_models(), shipped_accelerators(), shipped_clusters(), shipped_failures()}) {
    for (const ShippedFile& shipped : files) {
      text += shipped.text;
    }
  }
  write_file(file, text);
  return file;
}

void RunsDock::start_selected() {
  const std::optional<int> selected = session_.selection().plan();
  const PlanRow* row = session_.results().plan(selected);
  const std::shared_ptr<const Problem>& problem = session_.analysis().problem();
  if (row == nullptr || !row->feasible() || !problem || !problem->on_this_machine()) {
    return;
  }
  try {
    RunList::Start start;
    start.plan = problem->plan_of(row->layout);
    start.plan.prediction = Prediction{row->step_time, row->tokens_per_second, row->memory};
    const QString name = QDateTime::currentDateTime().toString(QStringLiteral("yyyyMMdd-HHmmss-zzz"));
    start.folder = QDir(app_folder()).absoluteFilePath(QStringLiteral("runs/") + name);
    start.data = QString::fromStdString(text_to_train_on());
    start.steps = session_.document().study().run_steps;
    start.profile = QString::fromStdString(problem->study.profile);
    const std::string folder = start.folder.toStdString();
    session_.runs().start(start);
    session_.document().edit(Field::kMarks, tr("start a run"), [&](Study& study) { study.runs.push_back(folder); });
  } catch (const Error& error) {
    Q_EMIT failed(QString::fromUtf8(error.what()));
  }
}

void RunsDock::open_record() {
  const QString file =
      QFileDialog::getOpenFileName(this, tr("Open a run record"), {}, tr("Run records (*.jsonl);;All files (*)"));
  if (file.isEmpty()) {
    return;
  }
  try {
    session_.runs().open(file);
  } catch (const Error& error) {
    Q_EMIT failed(QString::fromUtf8(error.what()));
  }
}

void RunsDock::show_controls() {
  const Study& study = session_.document().study();
  if (steps_->text().toLongLong() != study.run_steps) {
    steps_->setText(QString::number(study.run_steps));
  }
  if (data_->text() != QString::fromStdString(study.data)) {
    data_->setText(QString::fromStdString(study.data));
  }
  const PlanRow* row = session_.results().plan(session_.selection().plan());
  const std::shared_ptr<const Problem>& problem = session_.analysis().problem();
  const bool here = problem && problem->on_this_machine();
  start_->setEnabled(row != nullptr && row->feasible() && here);
  start_->setToolTip(!here
                         ? tr("Only plans for this machine run here: choose “%1” in Inputs, or save plan.json for the "
                              "cluster")
                               .arg(QString::fromLatin1(kThisMachine))
                     : row == nullptr ? tr("Select a plan first")
                                      : tr("Really trains %1").arg(QString::fromStdString(row->text)));
  const int run = current();
  stop_->setEnabled(run >= 0 && (session_.runs().runs()[static_cast<std::size_t>(run)].state == RunState::kRunning ||
                                 session_.runs().runs()[static_cast<std::size_t>(run)].state == RunState::kStarting));
  close_->setEnabled(run >= 0);
}

QString RunsDock::summary_text() const { return summary_->text(); }

void RunsDock::show_run() {
  show_controls();
  const int index = current();
  if (index < 0) {
    const std::shared_ptr<const Problem>& problem = session_.analysis().problem();
    const QString none =
        problem && !problem->on_this_machine()
            ? tr("The plans are for another machine, so they don't run here. Save one as plan.json, run it there with "
                 "`trainyard run`, and open its record.jsonl; or choose “%1” in Inputs.")
                  .arg(QString::fromLatin1(kThisMachine))
            : tr("No run yet. Select a plan for this machine and press “Run the selected plan”, or open record.jsonl "
                 "of a run from elsewhere.");
    summary_->setText({});
    summary_->hide();
    loss_->set_plot({});
    time_->set_plot({});
    loss_->set_empty_text(none);
    time_->set_empty_text(tr("Measured beside predicted step times come here."));
    return;
  }
  const Run& run = session_.runs().runs()[static_cast<std::size_t>(index)];
  const std::optional<Seconds> predicted = run.predicted_step();
  const std::optional<Seconds> measured = run.median_warm_step();
  QString text = tr("%1: step %2 of %3").arg(to_text(run.state)).arg(run.record.steps.size()).arg(run.steps);
  if (predicted) {
    text += tr("; predicted %1 a step").arg(quantity(*predicted));
  }
  if (measured) {
    text += tr("; measured %1").arg(quantity(*measured));
  }
  if (predicted && measured) {
    text += tr("; predicted / measured %1").arg(*predicted / *measured, 0, 'f', 2);
  }
  if (!run.message.isEmpty()) {
    text += QStringLiteral("\n") + run.message;
  }
  summary_->setText(text);
  summary_->show();
  plot(run);
}

void RunsDock::plot(const Run& run) {
  const Theme theme = gui::current(palette());
  loss_->set_empty_text(tr("The first step isn't done yet."));
  time_->set_empty_text(tr("The first step isn't done yet."));
  if (run.record.steps.empty()) {
    loss_->set_plot({});
    time_->set_plot({});
    return;
  }
  loss_->set_plot(plot_of(
      tr("Loss"), tr("nats a token"), Unit::kNone,
      {line_of(run, tr("loss"), theme.category(0).colour, [](const StepRecord& step) { return step.loss; })}, false));
  std::vector<Line> times = {line_of(run, tr("measured"), theme.category(0).colour,
                                     [](const StepRecord& step) { return step.step_time.si(); })};
  if (const std::optional<Seconds> predicted = run.predicted_step()) {
    Line line =
        line_of(run, tr("predicted"), theme.category(1).colour, [&](const StepRecord&) { return predicted->si(); });
    line.dashed = true;
    times.push_back(std::move(line));
  }
  time_->set_plot(plot_of(tr("Step time"), tr("time"), Unit::kTime, std::move(times), true));
}

}  // namespace trainyard::gui
