// Why there are no plans to show: in the same words in every view.
#pragma once

#include <QString>

namespace trainyard::gui {

class Session;

QString no_plans(Session& session);

}  // namespace trainyard::gui
