// TopologyView: the plan's cluster: what a collective or a whole step puts on its links, who belongs to which group,
// and what happens when a switch fails.
#pragma once

#include <QComboBox>
#include <QLabel>
#include <QLineEdit>
#include <QTimer>
#include <memory>

#include "gui/models/links_model.h"
#include "gui/session/gpu_grouping.h"
#include "gui/session/link_traffic.h"
#include "gui/session/session.h"
#include "gui/views/load_legend.h"
#include "gui/views/topology_widget.h"
#include "gui/views/view.h"

namespace trainyard::gui {

class TopologyView : public View {
  Q_OBJECT

 public:
  explicit TopologyView(Session& session, QWidget* parent = nullptr);

  TopologyWidget& topology() { return *topology_; }
  void activate_row(int row) override { write_link(links_.link(row)); }
  QAbstractItemModel* table() override { return &links_; }
  void export_svg(const QString& file) override;
  void export_png(const QString& file) override;
  QString summary() const { return summary_->text(); }
  QString effect() const { return effect_->text(); }

 protected:
  void showEvent(QShowEvent* event) override;

 private:
  QWidget* make_tools();
  void refresh();        // problem, plan or simulation have changed
  void offer_traffic();  // what the plan has
  void ask();            // for the traffic chosen, off this thread
  void show_traffic(LinkTraffic traffic);
  void recolour();
  void write_ranks(Rank rank, bool add);
  void write_link(LinkId link);
  void look_at(VertexId device);
  void what_if(const std::string& change, const QString& said);
  void read_selection();
  QString no_network() const;
  std::optional<TrafficQuestion> question() const;  // nothing: not to be asked yet, summary_ says why
  std::shared_ptr<const PlanSimulation> simulation() const;

  Session& session_;
  LinksModel links_;
  TopologyWidget* topology_;
  QComboBox* traffic_;
  QComboBox* groups_;
  QLineEdit* size_;
  QComboBox* colours_;
  LoadLegend* legend_;
  QLabel* summary_;
  QLabel* effect_;
  QTimer debounce_;
  std::shared_ptr<const Problem> problem_;
  std::shared_ptr<const PlanSimulation> shown_;
  std::shared_ptr<const LinkTraffic> answer_;
  std::optional<JobId> job_;
  std::string asked_;  // what the traffic shown, or under way, is of
};

}  // namespace trainyard::gui
