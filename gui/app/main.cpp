// trainyard-gui: the desktop program.
//
//   trainyard-gui [FILE...]                        opens the files: studies and whatever else can be dropped
//   trainyard-gui --screenshot DIR [--size WxH] [FILE...]
//                                                  writes each dock as a picture, of the files or an example, and ends
#include <QApplication>
#include <QCommandLineParser>
#include <QIcon>
#include <QSettings>
#include <QTimer>
#include <cstdio>

#include "core/plan/provenance.h"
#include "gui/app/look.h"
#include "gui/app/main_window.h"
#include "gui/app/screenshots.h"
#include "gui/app/system_look.h"

namespace {

// "1280x800"; invalid for anything else.
QSize size_of(const QString& text) {
  const QStringList parts = text.split(QLatin1Char('x'));
  return parts.size() == 2 ? QSize(parts[0].toInt(), parts[1].toInt()) : QSize();
}

}  // namespace

int main(int argc, char** argv) {
  using namespace trainyard::gui;
  QCoreApplication::setOrganizationName(QStringLiteral("trainyard"));
  QCoreApplication::setApplicationName(QStringLiteral("trainyard"));
  QCoreApplication::setApplicationVersion(QString::fromStdString(std::string(trainyard::tool_version())));
  QApplication app(argc, argv);
  QGuiApplication::setDesktopFileName(QStringLiteral("trainyard"));
  QGuiApplication::setWindowIcon(QIcon(QStringLiteral(":/trainyard.svg")));

  QCommandLineParser options;
  options.setApplicationDescription(QObject::tr("Plan, simulate and run sharded training: the desktop program."));
  options.addHelpOption();
  options.addVersionOption();
  const QCommandLineOption screenshot(QStringLiteral("screenshot"), QObject::tr("Write each dock as a picture here."),
                                      QStringLiteral("DIR"));
  const QCommandLineOption size(QStringLiteral("size"), QObject::tr("Of the pictures: 1280x800."),
                                QStringLiteral("WxH"), QStringLiteral("1280x800"));
  options.addOptions({screenshot, size});
  options.addPositionalArgument(QStringLiteral("FILE"),
                                QObject::tr("Studies, config.json, topology files, plans, runs."),
                                QStringLiteral("[FILE...]"));
  options.process(app);

  use_own_style();
  SystemLook system(QDBusConnection::sessionBus());
  if (options.isSet(screenshot)) {
    const QSize pixels = size_of(options.value(size));
    if (pixels.width() < 1 || pixels.height() < 1) {
      std::fputs("trainyard-gui: --size: write it as 1280x800\n", stderr);
      return 2;
    }
    // Not the person's own settings: pictures are to be the same for everyone.
    QCoreApplication::setApplicationName(QStringLiteral("trainyard-screenshots"));
    QSettings().clear();
    MainWindow window(system);
    QTimer::singleShot(0, &window, [&] {
      write_screenshots(window, options.value(screenshot), pixels, options.positionalArguments());
    });
    return QApplication::exec();
  }
  apply(kept_look(), system);
  MainWindow window(system);
  window.show();
  for (const QString& file : options.positionalArguments()) {
    window.open_file(file);
  }
  return QApplication::exec();
}
