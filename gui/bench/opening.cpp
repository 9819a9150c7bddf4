#include "gui/bench/opening.h"

#include <QApplication>
#include <QElapsedTimer>

#include "gui/app/main_window.h"
#include "gui/session/examples.h"

namespace trainyard::gui {

std::vector<Opening> open_examples(MainWindow& window) {
  constexpr double kNanoseconds = 1e-6;  // as milliseconds
  constexpr qint64 kMostMilliseconds = 60'000;
  std::vector<Opening> openings;
  for (const Example& example : example_studies(2)) {
    window.show_start();
    QApplication::processEvents();
    Opening opening{example.title.toStdString(), 0.0, std::nullopt};
    QElapsedTimer clock;
    clock.start();
    window.open_study(example.study);
    QApplication::processEvents();
    window.grab();
    opening.picture_ms = kNanoseconds * static_cast<double>(clock.nsecsElapsed());
    Session& session = window.session();
    while (session.results().plans().empty() && !session.search().unmeasured() && clock.elapsed() < kMostMilliseconds) {
      QApplication::processEvents(QEventLoop::AllEvents, 10);
    }
    if (!session.results().plans().empty()) {
      window.grab();
      opening.first_plans_ms = kNanoseconds * static_cast<double>(clock.nsecsElapsed());
    }
    window.session().search().cancel();
    openings.push_back(opening);
  }
  return openings;
}

}  // namespace trainyard::gui
