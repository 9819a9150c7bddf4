#include "gui/views/inputs_dock.h"

#include <QCheckBox>
#include <QComboBox>
#include <QCompleter>
#include <QFileDialog>
#include <QFileInfo>
#include <QFormLayout>
#include <QGroupBox>
#include <QHBoxLayout>
#include <QPushButton>
#include <QScrollArea>
#include <QSignalBlocker>
#include <QToolButton>
#include <QVBoxLayout>

#include "core/cluster/builder.h"
#include "core/model/parameter.h"
#include "core/plan/recovery_policy.h"
#include "core/plan/shipped.h"
#include "core/units/format_quantity.h"
#include "gui/paint/theme.h"

namespace trainyard::gui {

namespace {

constexpr int kShortestWords = 12;  // letters that a combo shows at least

QStringList names_of(std::span<const ShippedFile> files) {
  QStringList names;
  for (const ShippedFile& file : files) {
    names << QString::fromUtf8(file.name.data(), static_cast<qsizetype>(file.name.size()));
  }
  return names;
}

QStringList machine_words() {
  QStringList words = {QString::fromLatin1(kThisMachine)};
  words << names_of(shipped_clusters());
  for (const BuilderInfo& builder : cluster_builders()) {
    words << QString::fromStdString(builder.name);
  }
  return words;
}

std::optional<std::int64_t> whole_number(QString text) {
  bool whole = false;
  const qlonglong value = text.remove(QLatin1Char(',')).remove(QLatin1Char(' ')).toLongLong(&whole);
  return whole ? std::optional<std::int64_t>(value) : std::nullopt;
}

QString counted(std::int64_t value) { return QLocale(QLocale::English).toString(static_cast<qlonglong>(value)); }

QString parameters_text(std::int64_t count) {
  constexpr double kBillion = 1e9;
  const auto value = static_cast<double>(count);
  return value >= kBillion ? QObject::tr("%1 billion").arg(value / kBillion, 0, 'f', 1)
                           : QObject::tr("%1 million").arg(value / 1e6, 0, 'f', 1);
}

}  // namespace

InputsDock::InputsDock(Session& session, QWidget* parent)
    : View(QStringLiteral("inputs"), tr("Inputs"), parent), session_(session) {
  auto* scroll = new QScrollArea(this);
  scroll->setWidgetResizable(true);
  scroll->setFrameShape(QFrame::NoFrame);
  scroll->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  auto* content = new QWidget;
  groups_ = new QVBoxLayout(content);
  groups_->setContentsMargins(6, 6, 6, 6);
  add_model_and_machine();
  add_training();
  add_failures();
  add_limits();
  groups_->addStretch(1);
  scroll->setWidget(content);
  scroll->setMinimumWidth(content->minimumSizeHint().width() + 18);
  auto* outer = new QVBoxLayout(this);
  outer->setContentsMargins(0, 0, 0, 0);
  outer->addWidget(scroll);
  connect(&session_.document(), &StudyDocument::study_changed, this, &InputsDock::show_study);
  connect(&session_.search(), &Search::checked, this, [this] {
    show_errors();
    show_facts();
  });
  show_study();
  show_facts();
}

QFormLayout* InputsDock::add_group(const QString& title) {
  auto* box = new QGroupBox(title);
  auto* form = new QFormLayout(box);
  form->setFieldGrowthPolicy(QFormLayout::ExpandingFieldsGrow);
  form->setContentsMargins(8, 6, 8, 6);
  form->setVerticalSpacing(4);
  groups_->addWidget(box);
  return form;
}

InputRow& InputsDock::add_row(QFormLayout* form, Field field, const QString& title, QWidget* editor,
                              const QString& unit, const QString& tip) {
  auto row = std::make_unique<InputRow>();
  row->field = field;
  row->editor = editor;
  editor->setToolTip(tip);
  editor->setAccessibleName(unit.isEmpty() ? title : title + QStringLiteral(", ") + unit);
  editor->setAccessibleDescription(tip);
  auto* cell = new QWidget;
  auto* column = new QVBoxLayout(cell);
  column->setContentsMargins(0, 0, 0, 0);
  column->setSpacing(1);
  auto* line = new QHBoxLayout;
  line->setSpacing(6);
  line->addWidget(editor, 1);
  if (!unit.isEmpty()) {
    line->addWidget(new QLabel(unit));
  }
  column->addLayout(line);
  row->error = new QLabel;
  row->error->setWordWrap(true);
  row->error->setObjectName(QStringLiteral("error"));
  row->error->hide();
  column->addWidget(row->error);
  auto* label = new QLabel(title);
  label->setBuddy(editor);
  label->setToolTip(tip);
  form->addRow(label, cell);
  rows_.push_back(std::move(row));
  return *rows_.back();
}

void InputsDock::add_number(QFormLayout* form, Field field, const NumberText& text,
                            const std::function<std::int64_t(const Study&)>& get,
                            const std::function<void(Study&, std::int64_t)>& set) {
  add_degree(
      form, field, text, [get](const Study& study) { return std::optional(get(study)); },
      [set](Study& study, std::optional<std::int64_t> value) {
        if (value) {
          set(study, *value);
        }
      });
  static_cast<QLineEdit*>(rows_.back()->editor)->setPlaceholderText({});
}

void InputsDock::add_degree(QFormLayout* form, Field field, const NumberText& text,
                            const std::function<std::optional<std::int64_t>(const Study&)>& get,
                            std::function<void(Study&, std::optional<std::int64_t>)> set) {
  auto* edit = new QLineEdit;
  edit->setPlaceholderText(tr("any"));
  InputRow& row = add_row(form, field, text.title, edit, text.unit, text.tip);
  InputRow* held = &row;
  row.show = [edit, get](const Study& study) {
    const std::optional<std::int64_t> value = get(study);
    if (whole_number(edit->text()) != value || (!value && !edit->hasFocus())) {
      edit->setText(value ? QString::number(*value) : QString());
    }
  };
  connect(edit, &QLineEdit::textEdited, this, [this, edit, set, held, text](const QString& typed) {
    const std::optional<std::int64_t> value = whole_number(typed);
    const bool any = typed.trimmed().isEmpty() && !edit->placeholderText().isEmpty();
    const bool right = any || (value && *value >= text.lowest);
    held->typed_wrong = right ? QString() : tr("a whole number from %1 on").arg(text.lowest);
    if (right) {
      session_.document().edit(held->field, tr("change %1").arg(text.title),
                               [&](Study& study) { set(study, any ? std::nullopt : value); });
    }
    show_errors();
  });
}

QComboBox* InputsDock::add_words(QFormLayout* form, Field field, const QString& title, const QString& tip,
                                 const QStringList& words, std::string Study::*member, bool file) {
  auto* cell = new QWidget;
  auto* line = new QHBoxLayout(cell);
  line->setContentsMargins(0, 0, 0, 0);
  auto* combo = new QComboBox;
  combo->setEditable(true);
  combo->setInsertPolicy(QComboBox::NoInsert);
  combo->addItems(words);
  combo->setMinimumContentsLength(kShortestWords);
  combo->setSizeAdjustPolicy(QComboBox::AdjustToMinimumContentsLengthWithIcon);
  combo->completer()->setFilterMode(Qt::MatchContains);
  combo->completer()->setCompletionMode(QCompleter::PopupCompletion);
  line->addWidget(combo, 1);
  const auto change = [this, field, title, member](const QString& text) {
    session_.document().edit(field, tr("change %1").arg(title),
                             [&](Study& study) { study.*member = text.trimmed().toStdString(); });
  };
  if (file) {
    auto* browse = new QToolButton;
    browse->setText(QStringLiteral("…"));
    browse->setToolTip(tr("Choose a file"));
    browse->setAccessibleName(tr("Choose a file for %1").arg(title));
    connect(browse, &QToolButton::clicked, this, [this, title, change] {
      const QString chosen = QFileDialog::getOpenFileName(this, title);
      if (!chosen.isEmpty()) {
        change(chosen);
      }
    });
    line->addWidget(browse);
  }
  InputRow& row = add_row(form, field, title, cell, {}, tip);
  row.editor = combo;
  combo->setToolTip(tip);
  combo->setAccessibleName(title);
  cell->setAccessibleName({});
  row.show = [combo, member](const Study& study) {
    const QString text = QString::fromStdString(study.*member);
    if (combo->currentText().trimmed() != text) {
      const QSignalBlocker quiet(combo);
      combo->setEditText(text);
      combo->lineEdit()->setCursorPosition(0);
    }
  };
  connect(combo, &QComboBox::editTextChanged, this, change);
  return combo;
}

void InputsDock::add_choice(QFormLayout* form, Field field, const QString& title, const QString& tip,
                            const std::vector<std::pair<QString, std::string>>& choices,
                            const std::function<std::string(const Study&)>& get,
                            std::function<void(Study&, const std::string&)> set) {
  auto* combo = new QComboBox;
  for (const auto& [shown, word] : choices) {
    combo->addItem(shown, QString::fromStdString(word));
  }
  combo->setMinimumContentsLength(kShortestWords);
  combo->setSizeAdjustPolicy(QComboBox::AdjustToMinimumContentsLengthWithIcon);
  InputRow& row = add_row(form, field, title, combo, {}, tip);
  row.show = [combo, get](const Study& study) {
    const QSignalBlocker quiet(combo);
    const QString word = QString::fromStdString(get(study));
    if (combo->findData(word) < 0) {
      combo->addItem(word, word);
    }
    combo->setCurrentIndex(combo->findData(word));
  };
  connect(combo, &QComboBox::activated, this, [this, combo, field, title, set] {
    session_.document().edit(field, tr("change %1").arg(title),
                             [&](Study& study) { set(study, combo->currentData().toString().toStdString()); });
  });
}

void InputsDock::add_model_and_machine() {
  QFormLayout* form = add_group(tr("Model and machine"));
  add_words(form, Field::kModel, tr("Model"),
            tr("The neural network: a name, or a Hugging Face config.json (drop the file anywhere on the window)"),
            names_of(shipped_models()), &Study::model, true);
  model_facts_ = new QLabel;
  model_facts_->setWordWrap(true);
  form->addRow(QString(), model_facts_);
  QComboBox* machine = add_words(
      form, Field::kMachine, tr("Machine"),
      tr("Where it trains: this machine; a cluster by name; a fabric with keys such as superpod-h100:su=4; or a "
         "topology file (NCCL XML, ibnetdiscover, Slurm topology.conf, ...), dropped anywhere on the window"),
      machine_words(), &Study::machine, true);
  machine->setObjectName(QStringLiteral("machine"));
  machine_facts_ = new QLabel;
  machine_facts_->setWordWrap(true);
  form->addRow(QString(), machine_facts_);
  auto* measure = new QPushButton(tr("Measure this machine and search"));
  measure->setToolTip(tr("Times kernels and messages with all ranks at once, about 15 s; then searches layouts"));
  connect(measure, &QPushButton::clicked, &session_.search(), &Search::start);
  measure_ = measure;
  form->addRow(QString(), measure);
  add_words(form, Field::kAccelerator, tr("Accelerator"),
            tr("Of a topology file whose GPUs' names say nothing; empty: by their names"),
            QStringList(QString()) + names_of(shipped_accelerators()), &Study::accelerator, true);
  add_words(form, Field::kProfile, tr("Profile"),
            tr("Of this machine: what `trainyard calibrate` measured; empty: measured when a search needs it"), {},
            &Study::profile, true);
  add_number(
      form, Field::kRanks, {tr("Ranks"), tr("devices"), tr("Devices to train on, one process each"), 1},
      [](const Study& study) { return study.ranks; }, [](Study& study, std::int64_t value) { study.ranks = value; });
}

void InputsDock::add_training() {
  QFormLayout* form = add_group(tr("Training"));
  add_number(
      form, Field::kSequence, {tr("Sequence"), tr("tokens"), tr("Tokens of one sample"), 1},
      [](const Study& study) { return study.sequence; },
      [](Study& study, std::int64_t value) { study.sequence = value; });
  add_number(
      form, Field::kGlobalBatch,
      {tr("Global batch"), tr("sequences"), tr("Sequences that one step trains on, over all ranks"), 1},
      [](const Study& study) { return study.global_batch; },
      [](Study& study, std::int64_t value) { study.global_batch = value; });
  add_number(
      form, Field::kSteps, {tr("Steps"), tr("steps"), tr("Of the whole training"), 1},
      [](const Study& study) { return study.steps; }, [](Study& study, std::int64_t value) { study.steps = value; });
  std::vector<std::pair<QString, std::string>> precisions;
  for (const DataType type : kPrecisions) {
    precisions.emplace_back(QString::fromUtf8(to_string(type).data()), to_string(type));
  }
  add_choice(
      form, Field::kPrecision, tr("Precision"),
      tr("fp32; bf16 or fp16: weights and activations in it, gradients and optimizer in fp32; fp8 and smaller: "
         "products "
         "in it, the rest as with bf16"),
      precisions, [](const Study& study) { return study.precision; },
      [](Study& study, const std::string& word) { study.precision = word; });
  add_price(form);
}

void InputsDock::add_price(QFormLayout* form) {
  auto* edit = new QLineEdit;
  edit->setPlaceholderText(tr("not given"));
  InputRow& row = add_row(form, Field::kGpuHourPrice, tr("GPU price"), edit, tr("per hour"),
                          tr("What one GPU costs for an hour, in any currency: gives the cost of a billion tokens"));
  InputRow* held = &row;
  row.show = [edit](const Study& study) {
    bool number = false;
    const double shown = edit->text().toDouble(&number);
    const bool same = study.gpu_hour_price ? number && shown == *study.gpu_hour_price : edit->text().isEmpty();
    if (!same) {
      edit->setText(study.gpu_hour_price ? QString::number(*study.gpu_hour_price) : QString());
    }
  };
  connect(edit, &QLineEdit::textEdited, this, [this, held](const QString& typed) {
    constexpr double kMost = 1e6;
    bool number = false;
    const double value = typed.toDouble(&number);
    const bool none = typed.trimmed().isEmpty();
    const bool right = none || (number && value > 0.0 && value < kMost);
    held->typed_wrong = right ? QString() : tr("a number above 0 and below a million");
    if (right) {
      session_.document().edit(Field::kGpuHourPrice, tr("change the GPU price"), [&](Study& study) {
        study.gpu_hour_price = none ? std::nullopt : std::optional(value);
      });
    }
    show_errors();
  });
}

void InputsDock::add_failure_time(QFormLayout* form) {
  auto* edit = new QLineEdit;
  InputRow& row = add_row(form, Field::kFailureTime, tr("A failure every"), edit, {},
                          tr("Mean time between failures of the whole job, such as 1 h or 20 min, in place of what the "
                             "profile makes of it; of this machine nobody has published any"));
  row.show = [edit](const Study& study) {
    edit->setPlaceholderText(study.failures.empty() ? tr("not said: no failures") : tr("as the profile says"));
    const QString text = QString::fromStdString(study.mean_time_between_failures);
    if (edit->text().trimmed() != text) {
      edit->setText(text);
    }
  };
  connect(edit, &QLineEdit::textEdited, this, [this](const QString& typed) {
    session_.document().edit(Field::kFailureTime, tr("change the time between failures"),
                             [&](Study& study) { study.mean_time_between_failures = typed.trimmed().toStdString(); });
  });
}

void InputsDock::add_failures() {
  QFormLayout* form = add_group(tr("Failures"));
  add_words(form, Field::kFailures, tr("Profile"),
            tr("How often what fails, from published fleets; a name or a file; empty: failures are left out. Of this "
               "machine none are published: a file of its own counts, a name doesn't"),
            QStringList(QString()) + names_of(shipped_failures()), &Study::failures, true);
  add_failure_time(form);
  std::vector<std::pair<QString, std::string>> policies;
  for (int i = 0; i < kRecoveryKinds; ++i) {
    const std::string word(to_string(static_cast<RecoveryKind>(i)));
    policies.emplace_back(QString::fromStdString(word).replace(QLatin1Char('_'), QLatin1Char(' ')), word);
  }
  add_choice(
      form, Field::kPolicy, tr("Recovery"), tr("How the job goes on after losing a rank"), policies,
      [](const Study& study) { return study.policy; },
      [](Study& study, const std::string& word) { study.policy = word; });
}

void InputsDock::add_limits() {
  QFormLayout* form = add_group(tr("Search only layouts with"));
  const auto degree = [&](Field field, const QString& title, const QString& tip,
                          std::optional<int> StudyLimits::*member, std::int64_t lowest = 1) {
    add_degree(
        form, field, {title, {}, tip, lowest},
        [member](const Study& study) {
          const std::optional<int>& value = study.limits.*member;
          return value ? std::optional<std::int64_t>(*value) : std::nullopt;
        },
        [member](Study& study, std::optional<std::int64_t> value) {
          study.limits.*member = value ? std::optional(static_cast<int>(*value)) : std::nullopt;
        });
  };
  degree(Field::kTensor, tr("TP"), tr("Tensor parallelism: each layer cut over this many ranks"), &StudyLimits::tensor);
  degree(Field::kContext, tr("CP"), tr("Context parallelism: each sequence cut over this many ranks"),
         &StudyLimits::context);
  degree(Field::kPipeline, tr("PP"), tr("Pipeline parallelism: layers cut into this many stages"),
         &StudyLimits::pipeline);
  degree(Field::kData, tr("DP"), tr("Data parallelism: this many replicas"), &StudyLimits::data);
  degree(Field::kExpert, tr("EP"), tr("Expert parallelism: experts dealt out over this many ranks"),
         &StudyLimits::expert);
  degree(Field::kZero, tr("ZeRO"), tr("0; 1: replicas share out the optimizer state, 2: gradients too, 3: parameters"),
         &StudyLimits::zero, 0);
  add_degree(
      form, Field::kMicroBatch,
      {tr("Micro-batch"), tr("sequences"), tr("Sequences that go through the pipeline at once"), 1},
      [](const Study& study) { return study.limits.micro_batch; },
      [](Study& study, std::optional<std::int64_t> value) { study.limits.micro_batch = value; });
  std::vector<std::pair<QString, std::string>> schedules = {{tr("any"), ""}};
  for (int i = 0; i < kScheduleKinds; ++i) {
    const std::string word(to_string(static_cast<ScheduleKind>(i)));
    schedules.emplace_back(QString::fromStdString(word), word);
  }
  add_choice(
      form, Field::kSchedule, tr("Schedule"), tr("Order of forwards and backwards in the pipeline"), schedules,
      [](const Study& study) { return study.limits.schedule; },
      [](Study& study, const std::string& word) { study.limits.schedule = word; });
  add_choice(
      form, Field::kRecompute, tr("Recompute"), tr("Activations computed again in the backward instead of kept"),
      {{tr("any"), ""}, {tr("none"), "none"}, {tr("selective"), "selective"}, {tr("full"), "full"}},
      [](const Study& study) { return study.limits.recompute; },
      [](Study& study, const std::string& word) { study.limits.recompute = word; });
  auto* offload = new QCheckBox(tr("also in host memory"));
  InputRow& row = add_row(form, Field::kOffload, tr("Offload"), offload, {},
                          tr("Also look at layouts that keep optimizer, activations or parameters in host memory"));
  row.show = [offload](const Study& study) {
    const QSignalBlocker quiet(offload);
    offload->setChecked(study.limits.offload);
  };
  connect(offload, &QCheckBox::toggled, this, [this](bool on) {
    session_.document().edit(Field::kOffload, tr("change offload"), [&](Study& study) { study.limits.offload = on; });
  });
}

void InputsDock::show_study() {
  for (const std::unique_ptr<InputRow>& row : rows_) {
    row->show(session_.document().study());
    if (auto* edit = qobject_cast<QLineEdit*>(row->editor); edit == nullptr || !edit->hasFocus()) {
      row->typed_wrong.clear();
    }
  }
  show_errors();
}

void InputsDock::show_errors() {
  const Theme theme = current(palette());
  for (const std::unique_ptr<InputRow>& row : rows_) {
    QString text = row->typed_wrong;
    for (const FieldError& error : session_.search().errors()) {
      if (error.field == row->field && text.isEmpty()) {
        text = QString::fromStdString(error.problem + (error.hint.empty() ? "" : "\n" + error.hint));
      }
    }
    constexpr qsizetype kLongest = 220;
    row->error->setToolTip(text);
    row->error->setText(text.isEmpty() ? text
                                       : QStringLiteral("⚠ ") + text.left(kLongest) +
                                             (text.size() > kLongest ? QStringLiteral("…") : QString()));
    QPalette colours = palette();
    colours.setColor(QPalette::WindowText, theme.bad);
    row->error->setPalette(colours);
    row->error->setVisible(!text.isEmpty());
  }
}

void InputsDock::show_facts() {
  const std::shared_ptr<const Problem>& problem = session_.search().problem();
  const bool here = session_.document().study().machine == kThisMachine;
  measure_->setVisible(here && session_.search().unmeasured());
  model_facts_->setVisible(problem != nullptr);
  if (!problem) {
    model_facts_->clear();
    machine_facts_->setText(
        here && session_.search().unmeasured() ? tr("not measured yet, so nothing can be predicted of it") : QString());
    return;
  }
  const ModelSpec& model = problem->model;
  model_facts_->setText(tr("%1 parameters, %2 layers, %3 wide, up to %4 tokens")
                            .arg(parameters_text(parameter_count(model)), counted(model.layers), counted(model.hidden),
                                 counted(model.positions)));
  if (problem->machine) {
    const simulator::Machine& machine = *problem->machine;
    machine_facts_->setText(
        tr("%1 × %2, %3 each, %4 a node%5")
            .arg(counted(machine.fabric.ranks.value), QString::fromStdString(machine.accelerator.name),
                 QString::fromStdString(format_quantity(machine.accelerator.memory.value)),
                 counted(machine.fabric.ranks_per_node.value),
                 problem->cluster ? tr("; with its network")
                                  : tr("; its switches aren't known: see the fabrics in the list")));
  } else {
    machine_facts_->setText(
        tr("measured: %1 of memory").arg(QString::fromStdString(format_quantity(problem->profile.measured()->memory))));
  }
}

QWidget* InputsDock::editor(Field field) const {
  for (const std::unique_ptr<InputRow>& row : rows_) {
    if (row->field == field) {
      return row->editor;
    }
  }
  return nullptr;
}

QString InputsDock::error_text(Field field) const {
  for (const std::unique_ptr<InputRow>& row : rows_) {
    if (row->field == field) {
      return row->error->toolTip();
    }
  }
  return {};
}

}  // namespace trainyard::gui
