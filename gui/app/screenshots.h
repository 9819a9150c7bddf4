// Pictures of every dock for a person to look at: of files, or of an example study with its results in, in both themes.
#pragma once

#include <QSize>
#include <QString>
#include <QStringList>

namespace trainyard::gui {

class MainWindow;

// Writes DIR/window-NAME-light.png (the whole window, the dock in front), DIR/NAME-light.png (the dock alone, as large
// as the window) and the same in dark; then ends the program, 0: all were written. Where no file opens, the window
// alone.
void write_screenshots(MainWindow& window, const QString& folder, const QSize& size, const QStringList& files);

}  // namespace trainyard::gui
