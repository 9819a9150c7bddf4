#include "gui/app/system_look.h"

#include <QApplication>
#include <QDBusMessage>
#include <QDBusPendingCallWatcher>
#include <QDBusPendingReply>
#include <utility>

#include "gui/paint/theme.h"

namespace trainyard::gui {

namespace {

const char* const kService = "org.freedesktop.portal.Desktop";
const char* const kPath = "/org/freedesktop/portal/desktop";
const char* const kInterface = "org.freedesktop.portal.Settings";
const char* const kGroup = "org.freedesktop.appearance";
const char* const kKey = "color-scheme";

enum Scheme : unsigned { kNoPreference, kPreferDark, kPreferLight };

}  // namespace

SystemLook::SystemLook(const QDBusConnection& bus, Palette theme)
    : theme_(std::move(theme)), palette_is_dark_(current(theme_()).dark) {
  if (bus.isConnected()) {
    qRegisterMetaType<QDBusVariant>();  // the slot's is found by name
    QDBusConnection(bus).connect(QString(), QLatin1String(kPath), QLatin1String(kInterface),
                                 QStringLiteral("SettingChanged"), this,
                                 SLOT(setting_changed(QString, QString, QDBusVariant)));
    ask(bus);
  }
}

void SystemLook::ask(const QDBusConnection& bus) {
  QDBusMessage question = QDBusMessage::createMethodCall(QLatin1String(kService), QLatin1String(kPath),
                                                         QLatin1String(kInterface), QStringLiteral("Read"));
  question << QString::fromLatin1(kGroup) << QString::fromLatin1(kKey);
  auto* answer = new QDBusPendingCallWatcher(bus.asyncCall(question), this);
  connect(answer, &QDBusPendingCallWatcher::finished, this, [this](QDBusPendingCallWatcher* done) {
    const QDBusPendingReply<QDBusVariant> reply = *done;
    if (!reply.isError()) {
      take(reply.value().variant());
    }
    done->deleteLater();
  });
}

void SystemLook::setting_changed(const QString& group, const QString& key, const QDBusVariant& value) {
  if (group == QLatin1String(kGroup) && key == QLatin1String(kKey)) {
    take(value.variant());
  }
}

// Read() wraps the value once more than SettingChanged does.
void SystemLook::take(const QVariant& scheme) {
  if (scheme.canConvert<QDBusVariant>()) {
    take(scheme.value<QDBusVariant>().variant());
    return;
  }
  const bool before = dark();
  const unsigned said = scheme.toUInt();
  said_ = said == kPreferDark ? std::optional(true) : said == kPreferLight ? std::optional(false) : std::nullopt;
  if (dark() != before) {
    Q_EMIT changed();
  }
}

void SystemLook::theme_changed() {
  const bool before = dark();
  palette_is_dark_ = current(theme_()).dark;
  if (dark() != before) {
    Q_EMIT changed();
  }
}

// Which Qt gives only while the program has none of its own.
QPalette SystemLook::theme_palette() {
  const QPalette own = QApplication::palette();
  QApplication::setPalette(QPalette());
  const QPalette theme = QApplication::palette();
  QApplication::setPalette(own);
  return theme;
}

}  // namespace trainyard::gui
