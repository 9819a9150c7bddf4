// The verb that opens the desktop program.
#pragma once

#include "cli/session.h"

namespace CLI {
class App;
}

namespace trainyard::cli {

void add_gui(CLI::App& app, Session& session, Action& action);

}  // namespace trainyard::cli
