#include "gui/paint/chart_export.h"

#include <QBuffer>
#include <QGuiApplication>
#include <QImage>
#include <QPainter>
#include <QScreen>
#include <QSvgGenerator>
#include <QWidget>
#include <string_view>

#include "core/document/write_file.h"
#include "core/error.h"
#include "gui/paint/chart.h"
#include "gui/paint/theme.h"

namespace trainyard::gui {

namespace {

constexpr double kPrintRatio = 2.0;
constexpr int kDotsPerMetre = 3780;  // 96 an inch

// Qt's writers don't say that a disk is full: they write into memory, and this writes whole or not at all.
void write_bytes(const QString& file, const QByteArray& bytes) {
  write_file(file.toStdString(), std::string_view(bytes.constData(), static_cast<std::size_t>(bytes.size())));
}

}  // namespace

void write_svg(const QString& file, const QSize& size, const QString& title, const Drawing& drawing) {
  QByteArray bytes;
  QBuffer out(&bytes);
  out.open(QIODevice::WriteOnly);
  QSvgGenerator generator;
  generator.setOutputDevice(&out);
  generator.setSize(size);
  generator.setViewBox(QRect(QPoint(), size));
  generator.setTitle(title);
  // Points of a font become the pixels that the screen gives them.
  const QScreen* screen = QGuiApplication::primaryScreen();
  generator.setResolution(screen == nullptr ? 96 : qRound(screen->logicalDotsPerInch()));
  {
    QPainter painter(&generator);
    painter.setFont(QGuiApplication::font());
    drawing(painter);
  }
  write_bytes(file, bytes);
}

void write_png(const QString& file, const QSize& size, double pixel_ratio, const Drawing& drawing) {
  QImage image(size * pixel_ratio, QImage::Format_ARGB32_Premultiplied);
  image.setDevicePixelRatio(pixel_ratio);
  image.fill(Qt::transparent);
  {
    QPainter painter(&image);
    drawing(painter);
  }
  image.setDotsPerMeterX(static_cast<int>(kDotsPerMetre * pixel_ratio));
  image.setDotsPerMeterY(static_cast<int>(kDotsPerMetre * pixel_ratio));
  QByteArray bytes;
  QBuffer out(&bytes);
  if (!out.open(QIODevice::WriteOnly) || !image.save(&out, "PNG")) {
    throw Error("can't be made a PNG", file.toStdString(), "SVG, or a smaller window");
  }
  write_bytes(file, bytes);
}

void draw_charts(const QWidget& panel, QPainter& painter) {
  const Theme theme = current(panel.palette());
  painter.fillRect(panel.rect(), theme.background);
  const auto draw = [&](const Chart& chart) {
    const QPoint at = chart.mapTo(&panel, QPoint());
    painter.save();
    painter.setFont(chart.font());
    painter.translate(at);
    painter.setClipRect(chart.rect());
    chart.paint_all(painter, chart.rect(), theme);
    painter.restore();
  };
  if (const auto* chart = qobject_cast<const Chart*>(&panel)) {
    draw(*chart);
  }
  for (const Chart* chart : panel.findChildren<Chart*>()) {
    if (chart->isVisibleTo(&panel)) {
      draw(*chart);
    }
  }
}

void export_charts_svg(const QWidget& panel, const QString& title, const QString& file) {
  write_svg(file, panel.size(), title, [&](QPainter& painter) { draw_charts(panel, painter); });
}

void export_charts_png(const QWidget& panel, const QString& file) {
  write_png(file, panel.size(), kPrintRatio, [&](QPainter& painter) { draw_charts(panel, painter); });
}

}  // namespace trainyard::gui
