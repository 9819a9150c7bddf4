#include "gui/views/refreshing_view.h"

#include <QEvent>
#include <QTimer>

namespace trainyard::gui {

RefreshingView::RefreshingView(const QString& name, const QString& title, Session& session, QWidget* parent)
    : View(name, title, parent), session_(session) {
  const auto later = [this] { refresh_later(); };
  connect(&session.selection(), &Selection::plan_changed, this, later);
  connect(&session.selection(), &Selection::comparison_changed, this, later);
  connect(&session.results(), &Results::plans_changed, this, later);
  connect(&session.analysis(), &Analysis::problem_changed, this, later);
  const auto without_plans = [this] {
    if (session_.results().plans().empty()) {  // why there are none
      refresh_later();
    }
  };
  connect(&session.search(), &Search::checked, this, without_plans);
  connect(&session.search(), &Search::running_changed, this, without_plans);
}

void RefreshingView::refresh_now() {
  stale_ = false;
  refresh();
}

void RefreshingView::refresh_later() {
  stale_ = true;
  if (waiting_) {
    return;
  }
  waiting_ = true;
  QTimer::singleShot(0, this, [this] {
    waiting_ = false;
    if (stale_ && isVisible()) {
      refresh_now();
    }
  });
}

void RefreshingView::showEvent(QShowEvent* event) {
  View::showEvent(event);
  if (stale_) {
    refresh_now();
  }
}

void RefreshingView::changeEvent(QEvent* event) {
  View::changeEvent(event);
  if (event->type() == QEvent::PaletteChange) {
    refresh_later();
  }
}

}  // namespace trainyard::gui
