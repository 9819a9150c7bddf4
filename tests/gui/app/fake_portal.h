// Answers as xdg-desktop-portal does: Read() with a variant in a variant, changes with one.
#pragma once

#include <gtest/gtest.h>

#include <QDBusVariant>
#include <QObject>
#include <QString>
#include <QVariant>

namespace trainyard::gui {

class FakePortal : public QObject {
  Q_OBJECT
  Q_CLASSINFO("D-Bus Interface", "org.freedesktop.portal.Settings")

 public:
  unsigned scheme = 1;
  void change(unsigned to) {
    scheme = to;
    Q_EMIT SettingChanged(QStringLiteral("org.freedesktop.appearance"), QStringLiteral("color-scheme"),
                          QDBusVariant(QVariant::fromValue(to)));
  }

 public Q_SLOTS:
  QDBusVariant Read(const QString& group, const QString& key) {
    EXPECT_EQ(group, QStringLiteral("org.freedesktop.appearance"));
    EXPECT_EQ(key, QStringLiteral("color-scheme"));
    return QDBusVariant(QVariant::fromValue(QDBusVariant(QVariant::fromValue(scheme))));
  }

 Q_SIGNALS:
  void SettingChanged(const QString& group, const QString& key, const QDBusVariant& value);
};

}  // namespace trainyard::gui
