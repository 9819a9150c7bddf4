#include "gui/views/topology_view.h"

#include <fmt/format.h>

#include <QHBoxLayout>
#include <QPainter>
#include <QShowEvent>
#include <QToolButton>
#include <QVBoxLayout>
#include <algorithm>
#include <array>
#include <cmath>
#include <set>

#include "core/error.h"
#include "core/units/format_quantity.h"
#include "core/units/parse_quantity.h"
#include "gui/paint/chart_export.h"
#include "gui/paint/topology_text.h"

namespace trainyard::gui {

namespace {

constexpr int kStep =
    -1;  // entries of the traffic list: the step, parts of it (100 + kind), collectives (their number)
constexpr int kParts = 100;
constexpr int kAllRanks = -1;
constexpr int kDebounceMs = 250;

struct OpText {
  simulator::CollectiveOp op;
  const char* name;
};
constexpr std::array<OpText, 4> kOps = {{{simulator::CollectiveOp::kAllReduce, "all-reduce"},
                                         {simulator::CollectiveOp::kReduceScatter, "reduce-scatter"},
                                         {simulator::CollectiveOp::kAllGather, "all-gather"},
                                         {simulator::CollectiveOp::kAllToAll, "all-to-all"}}};

struct AxisText {
  Axis axis;
  const char* name;
};
constexpr std::array<AxisText, 4> kAxes = {{{Axis::kTensor, "tensor-parallel groups"},
                                            {Axis::kData, "data-parallel groups"},
                                            {Axis::kContext, "context-parallel groups"},
                                            {Axis::kExpert, "expert-parallel groups"}}};

std::string change_of(const Cluster& cluster, VertexId device) {
  const Vertex& of = cluster.vertex(device);
  return fmt::format("{}:{}=down", of.kind == VertexKind::kNic ? "nic" : "switch", of.name);
}

bool can_fail(VertexKind kind) {
  return is_fabric_switch(kind) || kind == VertexKind::kNvswitch || kind == VertexKind::kPcieSwitch ||
         kind == VertexKind::kNic;
}

QString named(const std::string& text) { return QString::fromStdString(text); }

}  // namespace

TopologyView::TopologyView(Session& session, QWidget* parent)
    : View(QStringLiteral("topology"), tr("Topology"), parent), session_(session) {
  topology_ = new TopologyWidget(this);
  setFocusProxy(topology_);
  legend_ = new LoadLegend(this);
  summary_ = new QLabel(this);
  effect_ = new QLabel(this);
  for (QLabel* label : {summary_, effect_}) {
    label->setWordWrap(true);
    label->setTextInteractionFlags(Qt::TextSelectableByMouse);
  }
  effect_->setVisible(false);
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(4, 4, 4, 4);
  column->setSpacing(4);
  column->addWidget(make_tools());
  column->addWidget(topology_, 1);
  column->addWidget(legend_);
  column->addWidget(summary_);
  column->addWidget(effect_);
  debounce_.setSingleShot(true);
  debounce_.setInterval(kDebounceMs);
  connect(&debounce_, &QTimer::timeout, this, &TopologyView::ask);
  connect(topology_, &TopologyWidget::rank_clicked, this, &TopologyView::write_ranks);
  connect(topology_, &TopologyWidget::link_clicked, this, &TopologyView::write_link);
  connect(topology_, &TopologyWidget::device_clicked, this, &TopologyView::look_at);
  connect(topology_, &TopologyWidget::device_stepped, this, [this](VertexId device) {
    effect_->setVisible(true);
    effect_->setText(device_text(*problem_->cluster, device).replace(QStringLiteral("<br>"), QStringLiteral(", ")) +
                     tr(". Enter: what if it fails"));
  });
  connect(topology_, &TopologyWidget::nothing_clicked, this, [this] {
    topology_->select_device(std::nullopt);
    effect_->setVisible(false);
    session_.selection().select_ranks({});
    session_.selection().select_links({});
  });
  connect(&session.analysis(), &Analysis::problem_changed, this, &TopologyView::refresh);
  connect(&session.analysis(), &Analysis::simulation_changed, this, &TopologyView::refresh);
  connect(&session.results(), &Results::plans_changed, this, &TopologyView::refresh);
  connect(&session.search(), &Search::checked, this, &TopologyView::refresh);
  connect(&session.selection(), &Selection::plan_changed, this, &TopologyView::refresh);
  connect(&session.selection(), &Selection::ranks_changed, this, &TopologyView::read_selection);
  connect(&session.selection(), &Selection::links_changed, this, &TopologyView::read_selection);
  offer_traffic();
  refresh();
}

QWidget* TopologyView::make_tools() {
  auto* bar = new QWidget(this);
  auto* row = new QHBoxLayout(bar);
  row->setContentsMargins(0, 0, 0, 0);
  traffic_ = new QComboBox(bar);
  traffic_->setAccessibleName(tr("Traffic on the links"));
  traffic_->setToolTip(
      tr("What loads the links: all communication of one step of the selected plan, the part of one "
         "kind of group, or one collective on its own"));
  groups_ = new QComboBox(bar);
  groups_->setAccessibleName(tr("Groups of the collective"));
  groups_->setToolTip(tr("Who takes part in the collective: every group along an axis of the plan, all at once"));
  size_ = new QLineEdit(QStringLiteral("1 GiB"), bar);
  size_->setMaximumWidth(90);
  size_->setAccessibleName(tr("Size of the collective"));
  size_->setToolTip(
      tr("Size as nccl-tests counts it: of a rank's buffer for all-reduce, of all ranks' together for the "
         "others; with a unit: 64 MiB"));
  colours_ = new QComboBox(bar);
  colours_->setAccessibleName(tr("Colour of the GPUs"));
  for (int i = 0; i < kGpuGroupings; ++i) {
    const auto grouping = static_cast<GpuGrouping>(i);
    colours_->addItem(named(grouping_name(grouping)), i);
    colours_->setItemData(i, named(grouping_meaning(grouping)), Qt::ToolTipRole);
  }
  colours_->setToolTip(
      tr("What GPUs are coloured by: their links' load, the groups of the plan, or what fails together"));
  auto* fit = new QToolButton(bar);
  fit->setText(tr("Fit"));
  fit->setAutoRaise(true);
  fit->setToolTip(tr("The whole cluster (0)"));
  for (QComboBox* box : {traffic_, groups_, colours_}) {
    box->setSizeAdjustPolicy(QComboBox::AdjustToMinimumContentsLengthWithIcon);
    box->setMinimumContentsLength(8);
  }
  row->addWidget(traffic_, 2);
  row->addWidget(groups_, 2);
  row->addWidget(size_);
  auto* by = new QLabel(tr("GPUs by"), bar);
  row->addWidget(by);
  row->addWidget(colours_, 2);
  row->addStretch(1);
  row->addWidget(fit);
  connect(fit, &QToolButton::clicked, topology_, &TopologyWidget::fit_all);
  const auto again = [this] { debounce_.start(); };
  connect(traffic_, &QComboBox::currentIndexChanged, this, again);
  connect(groups_, &QComboBox::currentIndexChanged, this, again);
  connect(size_, &QLineEdit::textChanged, this, again);
  connect(colours_, &QComboBox::currentIndexChanged, this, &TopologyView::recolour);
  return bar;
}

void TopologyView::showEvent(QShowEvent* event) {
  View::showEvent(event);
  refresh();
}

std::shared_ptr<const PlanSimulation> TopologyView::simulation() const {
  const std::optional<int> plan = session_.selection().plan();
  return plan && session_.results().plan(plan) != nullptr ? session_.analysis().simulation(*plan) : nullptr;
}

void TopologyView::refresh() {
  const std::shared_ptr<const Problem> problem = session_.analysis().problem();
  if (problem != problem_) {
    const auto before = problem_ ? problem_->cluster : nullptr;
    problem_ = problem;
    const auto cluster = problem ? problem->cluster : nullptr;
    const bool same = cluster && before && (cluster == before || *cluster == *before);
    if (!same) {
      answer_.reset();
      topology_->set_cluster(cluster);
      links_.set(cluster, nullptr);
    }
    asked_.clear();
  }
  const QString none = no_network();
  topology_->set_empty_text(none);
  traffic_->setEnabled(none.isEmpty());
  colours_->setEnabled(none.isEmpty());
  const std::optional<int> plan = session_.selection().plan();
  const PlanRow* row = session_.results().plan(plan);
  if (isVisible() && row != nullptr && row->feasible() &&
      session_.analysis().simulation_state(*plan) == PartState::kNone) {
    session_.analysis().request_simulation(*plan);
  }
  const auto simulated = simulation();
  if (simulated != shown_) {
    shown_ = simulated;
    asked_.clear();
  }
  offer_traffic();
  recolour();
  read_selection();
  debounce_.start();
}

void TopologyView::offer_traffic() {
  const QSignalBlocker quiet_traffic(traffic_);
  const QSignalBlocker quiet_groups(groups_);
  const QVariant traffic = traffic_->currentData();
  const QVariant groups = groups_->currentData();
  traffic_->clear();
  traffic_->addItem(tr("whole step"), kStep);
  if (shown_) {
    std::set<GroupKind> kinds;
    for (const Group& group : shown_->simulation.program.groups) {
      if (group.size > 1) {
        kinds.insert(group.kind);
      }
    }
    for (const GroupKind kind : kinds) {
      traffic_->addItem(tr("step: %1 groups").arg(named(std::string(to_string(kind)))),
                        kParts + static_cast<int>(kind));
    }
  }
  for (std::size_t i = 0; i < kOps.size(); ++i) {
    traffic_->addItem(tr("one %1").arg(QLatin1String(kOps.at(i).name)), static_cast<int>(i));
  }
  groups_->clear();
  groups_->addItem(tr("all ranks"), kAllRanks);
  if (shown_) {
    const Mesh mesh(shown_->plan.layout);
    for (std::size_t i = 0; i < kAxes.size(); ++i) {
      if (mesh.size(kAxes.at(i).axis) > 1) {
        groups_->addItem(QLatin1String(kAxes.at(i).name), static_cast<int>(i));
      }
    }
  }
  traffic_->setCurrentIndex(std::max(traffic_->findData(traffic), 0));
  groups_->setCurrentIndex(std::max(groups_->findData(groups), 0));
}

// Why there is no cluster to draw; empty: there is one, or one may come.
QString TopologyView::no_network() const {
  if (problem_ ? problem_->on_this_machine() : session_.document().study().machine == kThisMachine) {
    return tr("This machine has no network to show. Choose a cluster in Inputs.");
  }
  if (problem_ && !problem_->cluster) {
    return tr(
        "Only nodes and NICs are known of this cluster, not its links. Name a fabric such as superpod-h100 in "
        "Inputs, or drop a topology file.");
  }
  return {};
}

std::optional<TrafficQuestion> TopologyView::question() const {
  const auto wait = [this](const QString& why) {
    summary_->setText(why);
    return std::nullopt;
  };
  if (const QString none = no_network(); !none.isEmpty()) {
    return wait(none);
  }
  if (!problem_) {
    return wait(tr("Loads of links show once a search has begun."));
  }
  TrafficQuestion question;
  question.problem = problem_;
  question.simulation = shown_;
  const int traffic = traffic_->currentData().toInt();
  if (traffic == kStep || traffic >= kParts) {
    if (!shown_) {
      const std::optional<int> plan = session_.selection().plan();
      const PlanRow* row = session_.results().plan(plan);
      if (row == nullptr) {
        return wait(tr("Select a plan to see what its step puts on the links, or choose a collective above."));
      }
      if (!row->feasible()) {
        return wait(tr("This layout can't run, so it has no traffic."));
      }
      return wait(session_.analysis().simulation_state(*plan) == PartState::kFailed
                      ? session_.analysis().simulation_message(*plan)
                      : tr("The step is being simulated…"));
    }
    if (traffic >= kParts) {
      question.part = static_cast<GroupKind>(traffic - kParts);
    }
    return question;
  }
  question.op = kOps.at(static_cast<std::size_t>(traffic)).op;
  const int axis = groups_->currentData().toInt();
  if (axis != kAllRanks) {
    question.axis = kAxes.at(static_cast<std::size_t>(axis)).axis;
  }
  try {
    question.size = parse_byte_count(size_->text().toStdString(), "size");
  } catch (const Error& error) {
    return wait(named(error.problem() + ": " + error.hint()));
  }
  return question;
}

void TopologyView::ask() {
  const int traffic = traffic_->currentData().toInt();
  const bool collective = traffic >= 0 && traffic < kParts;
  groups_->setEnabled(collective);
  size_->setEnabled(collective);
  if (!isVisible()) {
    return;
  }
  const auto asked = question();
  if (!asked) {
    topology_->set_links({});
    links_.set(problem_ ? problem_->cluster : nullptr, nullptr);
    legend_->set(false, topology_->colours());
    answer_.reset();
    asked_.clear();
    return;
  }
  const std::string key = fmt::format("{} {} {}", traffic, collective ? groups_->currentData().toInt() : 0,
                                      collective ? asked->size.value() : 0);
  if (key == asked_) {
    return;
  }
  asked_ = key;
  if (job_) {
    session_.jobs().cancel(*job_);
  }
  summary_->setText(tr("Routing flows over the cluster…"));
  job_ = session_.jobs().start<LinkTraffic>(
      this, tr("Loads of links"),
      [question = *asked](JobContext& job) {
        return link_traffic(question, [&job](double done) {
          job.progress(done, QString());
          return !job.stop().stop_requested();
        });
      },
      [this](LinkTraffic found) { show_traffic(std::move(found)); },
      [this](const Failure& failure) {
        job_.reset();
        summary_->setText(failure.text());
      });
}

void TopologyView::show_traffic(LinkTraffic traffic) {
  job_.reset();
  answer_ = std::make_shared<const LinkTraffic>(std::move(traffic));
  topology_->set_links({answer_->busy});
  links_.set(problem_->cluster, answer_);
  legend_->set(true, topology_->colours());
  QString text = named(answer_->text);
  if (links_.rowCount() > 0) {
    text += tr(". Fullest link: %1 – %2, busy %3 of the time")
                .arg(links_.index(0, LinksModel::kFrom).data().toString(),
                     links_.index(0, LinksModel::kTo).data().toString(),
                     links_.index(0, LinksModel::kBusy).data().toString());
  }
  QStringList notes;
  for (const std::string& note : answer_->notes) {
    notes << named(note);
  }
  summary_->setText(text);
  summary_->setToolTip(notes.join(QLatin1Char('\n')));
  read_selection();
}

void TopologyView::recolour() {
  GpuColours colours;
  const auto grouping = static_cast<GpuGrouping>(colours_->currentData().toInt());
  if (problem_ && problem_->cluster && grouping != GpuGrouping::kLoad) {
    std::optional<Layout> layout;
    if (const PlanRow* row = session_.results().plan(session_.selection().plan())) {
      layout = row->layout;
    }
    colours.category = group_of_gpus(*problem_->cluster, layout, problem_->failures, grouping);
    colours.title = grouping_name(grouping);
    const std::int32_t groups =
        colours.category.empty() ? 0 : *std::max_element(colours.category.begin(), colours.category.end()) + 1;
    for (std::int32_t i = 0; i < std::min(groups, static_cast<std::int32_t>(kCellLooks) + 1); ++i) {
      colours.names.push_back(std::to_string(i));
    }
    if (groups == 0) {
      colours.title += grouping >= GpuGrouping::kNode ? ": no failure profile in Inputs" : ": select a plan";
    }
  }
  topology_->set_colours(colours);
  legend_->set(topology_->links().known(), colours);
}

void TopologyView::write_ranks(Rank rank, bool add) {
  std::vector<Rank> ranks;
  const GpuColours& colours = topology_->colours();
  if (!colours.category.empty() && colours.category[rank.at()] >= 0) {
    for (std::size_t r = 0; r < colours.category.size(); ++r) {
      if (colours.category[r] == colours.category[rank.at()]) {
        ranks.emplace_back(static_cast<std::int64_t>(r));
      }
    }
  } else {
    ranks.push_back(rank);
  }
  if (add) {
    const std::vector<Rank>& before = session_.selection().ranks();
    ranks.insert(ranks.end(), before.begin(), before.end());
  } else {
    topology_->select_device(std::nullopt);
    effect_->setVisible(false);
    session_.selection().select_links({});
  }
  session_.selection().select_ranks(std::move(ranks));
}

void TopologyView::write_link(LinkId link) {
  session_.selection().select_links({link});
  const std::string& from = problem_->cluster->vertex(problem_->cluster->link(link).from).name;
  const std::string& to = problem_->cluster->vertex(problem_->cluster->link(link).to).name;
  what_if(fmt::format("link:{}-{}=down", from, to), tr("the link %1 – %2 fails").arg(named(from), named(to)));
}

void TopologyView::look_at(VertexId device) {
  const Cluster& cluster = *problem_->cluster;
  topology_->select_device(device);
  std::vector<LinkId> links;
  for (std::size_t l = 0; l < cluster.links().size(); ++l) {
    if (cluster.links()[l].from == device || cluster.links()[l].to == device) {
      links.emplace_back(static_cast<std::int64_t>(l));
    }
  }
  session_.selection().select_links(std::move(links));
  if (can_fail(cluster.vertex(device).kind)) {
    const Vertex& of = cluster.vertex(device);
    what_if(change_of(cluster, device), tr("%1 fails").arg(named(of.name)));
  }
}

void TopologyView::what_if(const std::string& change, const QString& said) {
  const auto asked = question();
  effect_->setVisible(true);
  const QString what = said.toHtmlEscaped();
  if (!asked) {
    effect_->setText(tr("<b>What if %1</b>: select a plan or a collective first").arg(what));
    return;
  }
  if (answer_) {
    summary_->setText(named(answer_->text));
  }
  effect_->setText(tr("<b>What if %1</b>: computing…").arg(what));
  session_.jobs().start<FailureEffect>(
      this, tr("What if %1").arg(said),
      [question = *asked, change](JobContext&) { return effect_of(question, change); },
      [this, what](const FailureEffect& effect) {
        if (!effect.cut.empty()) {
          effect_->setText(tr("<b>What if %1</b>: %2").arg(what, named(effect.cut).toHtmlEscaped()));
          return;
        }
        const double more = 100.0 * (effect.after / effect.before - 1.0);
        constexpr double kNoticed = 0.05;  // %, what the text would round to
        if (std::abs(more) < kNoticed) {
          effect_->setText(
              tr("<b>What if %1</b>: as fast as before, %2").arg(what, named(format_quantity(effect.before))));
          return;
        }
        effect_->setText(tr("<b>What if %1</b>: %2 instead of %3 (%4%5 %)")
                             .arg(what, named(format_quantity(effect.after)), named(format_quantity(effect.before)),
                                  more >= 0.0 ? QStringLiteral("+") : QString())
                             .arg(more, 0, 'f', 1));
      },
      [this, what](const Failure& failure) {
        effect_->setText(tr("<b>What if %1</b>: %2").arg(what, failure.text().toHtmlEscaped()));
      });
}

void TopologyView::read_selection() {
  if (topology_->cluster() == nullptr) {
    return;
  }
  topology_->select_ranks(session_.selection().ranks());
  std::vector<LinkId> links;
  for (const LinkId link : session_.selection().links()) {
    if (link.at() < topology_->cluster()->links().size()) {
      links.push_back(link);
    }
  }
  topology_->select_links(std::move(links));
}

void TopologyView::export_svg(const QString& file) {
  write_svg(file, topology_->size(), title(), [this](QPainter& painter) { topology_->paint_to(painter, true); });
}

void TopologyView::export_png(const QString& file) {
  write_png(file, topology_->size(), 2.0, [this](QPainter& painter) { topology_->paint_to(painter, true); });
}

}  // namespace trainyard::gui
