// Charts as files that look as the screen does: the same drawing at the same size, in the theme on screen.
#pragma once

#include <QSize>
#include <QString>
#include <functional>

class QPainter;
class QWidget;

namespace trainyard::gui {

// In pixels at the screen's density; the painter starts at the top left.
using Drawing = std::function<void(QPainter&)>;

// Throw Error where the file can't be written.
void write_svg(const QString& file, const QSize& size, const QString& title, const Drawing& drawing);
void write_png(const QString& file, const QSize& size, double pixel_ratio, const Drawing& drawing);

// Every visible Chart of the panel where it stands, on the panel's background.
void draw_charts(const QWidget& panel, QPainter& painter);
void export_charts_svg(const QWidget& panel, const QString& title, const QString& file);
void export_charts_png(const QWidget& panel, const QString& file);  // two pixels a pixel, for print

}  // namespace trainyard::gui
