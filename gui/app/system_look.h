// SystemLook: whether the system is light or dark, now and as it changes.
//
// First what the desktop says: "color-scheme" of org.freedesktop.appearance, asked of xdg-desktop-portal over D-Bus,
// as GNOME, KDE and others answer it. Where it says nothing, or nobody answers: the palette that Qt has from the
// platform's theme. Where there is no theme either, the style's own, which is light.
// Source: XDG Desktop Portal, org.freedesktop.portal.Settings. Qt 6.4 doesn't ask it; later ones do.
#pragma once

#include <QDBusConnection>
#include <QDBusVariant>
#include <QObject>
#include <QPalette>
#include <functional>
#include <optional>

namespace trainyard::gui {

class SystemLook : public QObject {
  Q_OBJECT

 public:
  using Palette = std::function<QPalette()>;

  // Asks without waiting: the answer comes as a change. theme: the system's palette, now.
  explicit SystemLook(const QDBusConnection& bus, Palette theme = theme_palette);

  // As Qt has it from the platform's theme, whatever the program has set.
  static QPalette theme_palette();

  bool dark() const { return said_.value_or(palette_is_dark_); }
  void theme_changed();  // Qt has told a window so

 Q_SIGNALS:
  void changed();

 private Q_SLOTS:
  void setting_changed(const QString& group, const QString& key, const QDBusVariant& value);

 private:
  void ask(const QDBusConnection& bus);
  void take(const QVariant& scheme);

  Palette theme_;
  std::optional<bool> said_;  // by the desktop
  bool palette_is_dark_;
};

}  // namespace trainyard::gui
