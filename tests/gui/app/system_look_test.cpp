// "As the system": what the desktop says, what Qt's platform theme says, and changes of both while the window is open.
#include "gui/app/system_look.h"

#include <gtest/gtest.h>

#include <QApplication>
#include <QDBusMessage>
#include <QProcess>
#include <QSettings>

#include "gui/app/look.h"
#include "gui/app/main_window.h"
#include "gui/paint/theme.h"
#include "tests/gui/app/fake_portal.h"
#include "tests/gui/support.h"

namespace trainyard::gui {
namespace {

class AsTheSystem : public testing::Test {
 protected:
  ~AsTheSystem() override {
    QApplication::setPalette(QPalette());
    QSettings().remove(QStringLiteral("look"));
  }

  SystemLook::Palette theme() {
    return [this] { return theme_; };
  }
  void change_theme(const QPalette& palette, QWidget& window) {
    theme_ = palette;
    QEvent event(QEvent::ThemeChange);
    QApplication::sendEvent(&window, &event);
  }
  static bool shows_dark() { return current(QApplication::palette()).dark; }

  const QDBusConnection nobody_{QStringLiteral("none")};

 private:
  QPalette theme_ = light_palette();
};

TEST_F(AsTheSystem, AThemeThatChangesChangesTheWindow) {
  SystemLook system(nobody_, theme());
  MainWindow window(system);
  window.set_look(Look::kSystem);
  EXPECT_FALSE(shows_dark());
  change_theme(dark_palette(), window);
  EXPECT_TRUE(shows_dark());
  change_theme(light_palette(), window);
  EXPECT_FALSE(shows_dark());
}

// Whoever has chosen light keeps it; going back to the system's finds what it has become.
TEST_F(AsTheSystem, AChosenLookStaysAndTheSystemsIsFoundAgain) {
  SystemLook system(nobody_, theme());
  MainWindow window(system);
  window.set_look(Look::kLight);
  change_theme(dark_palette(), window);
  EXPECT_FALSE(shows_dark());
  window.set_look(Look::kSystem);
  EXPECT_TRUE(shows_dark());
}

// Offscreen it is a light one.
TEST_F(AsTheSystem, TheThemesPaletteIsFoundUnderTheProgramsOwn) {
  QApplication::setPalette(dark_palette());
  EXPECT_FALSE(current(SystemLook::theme_palette()).dark);
  EXPECT_TRUE(shows_dark());
  EXPECT_EQ(QApplication::palette().color(QPalette::Window), dark_palette().color(QPalette::Window));
}

// A bus of the test's own.
class OwnBus {
 public:
  OwnBus() {
    daemon_.start(QStringLiteral("dbus-daemon"),
                  {QStringLiteral("--session"), QStringLiteral("--nofork"), QStringLiteral("--print-address=1")});
    if (daemon_.waitForStarted() && daemon_.waitForReadyRead(5000)) {
      address_ = QString::fromUtf8(daemon_.readLine()).trimmed();
    }
  }
  ~OwnBus() {
    daemon_.terminate();
    daemon_.waitForFinished();
  }
  const QString& address() const { return address_; }  // empty: there is no dbus-daemon here

 private:
  QProcess daemon_;
  QString address_;
};

TEST_F(AsTheSystem, WhatTheDesktopSaysGoesBeforeTheThemesPalette) {
  const OwnBus own;
  if (own.address().isEmpty()) {
    GTEST_SKIP() << "dbus-daemon is not installed";
  }
  QDBusConnection desktop = QDBusConnection::connectToBus(own.address(), QStringLiteral("desktop"));
  const QDBusConnection bus = QDBusConnection::connectToBus(own.address(), QStringLiteral("program"));
  ASSERT_TRUE(desktop.isConnected() && bus.isConnected());
  qRegisterMetaType<QDBusVariant>();
  FakePortal portal;
  ASSERT_TRUE(desktop.registerService(QStringLiteral("org.freedesktop.portal.Desktop")));
  ASSERT_TRUE(desktop.registerObject(QStringLiteral("/org/freedesktop/portal/desktop"), &portal,
                                     QDBusConnection::ExportAllSlots | QDBusConnection::ExportAllSignals));
  SystemLook system(bus, theme());
  MainWindow window(system);
  window.set_look(Look::kSystem);
  EXPECT_TRUE(wait_for([] { return shows_dark(); }, 5'000));
  portal.change(2);
  EXPECT_TRUE(wait_for([] { return !shows_dark(); }, 5'000));
  portal.change(1);
  EXPECT_TRUE(wait_for([] { return shows_dark(); }, 5'000));
  portal.change(0);  // no preference: the palette, which is light
  EXPECT_TRUE(wait_for([] { return !shows_dark(); }, 5'000));
  QDBusConnection::disconnectFromBus(QStringLiteral("desktop"));
  QDBusConnection::disconnectFromBus(QStringLiteral("program"));
}

}  // namespace
}  // namespace trainyard::gui
