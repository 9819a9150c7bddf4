#include "gui/views/no_plans.h"

#include <QObject>

#include "gui/session/session.h"

namespace trainyard::gui {

QString no_plans(Session& session) {
  const Search& search = session.search();
  if (!search.errors().empty()) {
    return QObject::tr("Some inputs are wrong, so nothing is searched: see the fields marked in Inputs.");
  }
  if (search.running()) {
    return search.unmeasured()
               ? QObject::tr("This machine is being measured, about 15 s; leave it alone meanwhile. Then plans come.")
               : QObject::tr("Searching: the first plans come in a moment.");
  }
  if (search.unmeasured()) {
    return QObject::tr("This machine isn't measured yet. Press Search: it is measured first, about 15 s.");
  }
  return session.results().summary().finished
             ? QObject::tr("No layout of these ranks has what Inputs ask for.")
             : QObject::tr("No plans yet. Choose a model and a machine in Inputs, then press Search.");
}

}  // namespace trainyard::gui
