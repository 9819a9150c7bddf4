#include "gui/views/filter_chips.h"

#include <QLabel>
#include <QToolButton>

#include "gui/views/flow_layout.h"

namespace trainyard::gui {

FilterChips::FilterChips(Results& results, QWidget* parent) : QWidget(parent), results_(results) {
  row_ = new FlowLayout(this);
  setAccessibleName(tr("Filters that hold"));
  connect(&results, &Results::filter_changed, this, &FilterChips::refresh);
  connect(&results, &Results::plans_changed, this, &FilterChips::refresh);
  refresh();
}

void FilterChips::refresh() {
  while (QLayoutItem* item = row_->takeAt(0)) {
    if (item->widget() != nullptr) {
      item->widget()->hide();
      item->widget()->deleteLater();
    }
    delete item;
  }
  const std::vector<RangeFilter>& filters = results_.filters();
  setVisible(results_.filtered());  // takes no room where there is nothing to take off
  const auto add = [&](const QString& text, auto take_off) {
    auto* chip = new QToolButton;
    chip->setText(text + QStringLiteral("  \u2715"));
    chip->setToolTip(tr("A filter of every view; click to take it off"));
    chip->setAccessibleName(tr("Take off the filter %1").arg(text));
    connect(chip, &QToolButton::clicked, this, take_off);
    row_->addWidget(chip);
  };
  for (const RangeFilter& filter : filters) {
    add(text_of(filter), [this, column = filter.column] { results_.remove_filter(column); });
  }
  if (results_.lasso()) {
    add(text_of(*results_.lasso()), [this] { results_.set_lasso(std::nullopt); });
  }
  if (filters.size() + (results_.lasso() ? 1 : 0) > 1) {
    auto* all = new QToolButton;
    all->setText(tr("Clear all"));
    connect(all, &QToolButton::clicked, this, [this] { results_.clear_filters(); });
    row_->addWidget(all);
  }
  if (results_.filtered()) {
    int passing = 0;
    int feasible = 0;
    for (std::size_t i = 0; i < results_.plans().size(); ++i) {
      passing += results_.passes(static_cast<int>(i)) ? 1 : 0;
      feasible += results_.plans()[i].feasible() ? 1 : 0;
    }
    row_->addWidget(new QLabel(tr("%1 of %2 plans").arg(passing).arg(feasible)));
  }
}

}  // namespace trainyard::gui
