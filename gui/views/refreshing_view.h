// RefreshingView: a view that shows what the session says: drawn anew once for many changes, and not while nobody
// looks.
#pragma once

#include "gui/session/session.h"
#include "gui/views/view.h"

namespace trainyard::gui {

class RefreshingView : public View {
  Q_OBJECT

 public:
  RefreshingView(const QString& name, const QString& title, Session& session, QWidget* parent);

  // At once, whether seen or not.
  void refresh_now();

 protected:
  virtual void refresh() = 0;
  void refresh_later();
  Session& session() { return session_; }
  const Session& session() const { return session_; }
  void changeEvent(QEvent* event) override;
  void showEvent(QShowEvent* event) override;

 private:
  Session& session_;
  bool stale_ = true;
  bool waiting_ = false;  // for the event loop
};

}  // namespace trainyard::gui
