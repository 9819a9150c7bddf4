// Memory: what a plan's ranks hold, by cause and stage, against what they have; and over the time of a step.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "gui/models/value_table.h"
#include "gui/paint/area_chart.h"
#include "gui/paint/bar_rows.h"
#include "gui/views/memory_rows.h"
#include "gui/views/refreshing_view.h"

class QComboBox;
class QLabel;
class QTabWidget;

namespace trainyard::gui {

class MemoryView : public RefreshingView {
  Q_OBJECT

 public:
  explicit MemoryView(Session& session, QWidget* parent = nullptr);

  QAbstractItemModel* table() override { return &table_; }
  const BarRows& stages() const { return *stages_; }
  const AreaChart& over_step() const { return *over_step_; }
  QString summary() const;
  void show_over_step();  // the second tab

 protected:
  void refresh() override;

 private:
  void say_nothing(const QString& why);
  void show_stages(const PlanRow& row);
  void show_step();
  void take_span();
  std::vector<MemoryStack> stacks_of(const PlanRow& row, ByteCount& capacity);

  QLabel* summary_;
  QTabWidget* tabs_;
  BarRows* stages_;
  AreaChart* over_step_;
  QComboBox* roles_;
  ValueTable table_;
  std::shared_ptr<const PlanSimulation> drawn_;  // that the roles are of
};

}  // namespace trainyard::gui
