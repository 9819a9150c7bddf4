#include "gui/views/view.h"

#include <QAbstractItemModel>
#include <QLayout>
#include <QPainter>

#include "core/document/write_file.h"
#include "core/error.h"
#include "gui/paint/chart_export.h"

namespace trainyard::gui {

namespace {

QString csv_field(QString text) {
  const bool plain = !text.contains(QLatin1Char(',')) && !text.contains(QLatin1Char('"')) &&
                     !text.contains(QLatin1Char('\n')) && !text.contains(QLatin1Char('\r'));
  const QString quote(QLatin1Char('"'));
  return plain ? text : quote + text.replace(quote, quote + quote) + quote;
}

}  // namespace

View::View(const QString& name, const QString& title, QWidget* parent) : QWidget(parent), name_(name), title_(title) {
  setObjectName(name);
  setAccessibleName(title);
}

int View::heightForWidth(int width) const {
  return layout() != nullptr && layout()->hasHeightForWidth() ? layout()->minimumHeightForWidth(width) : -1;
}

void View::export_svg(const QString& file) {
  write_svg(file, size(), title_,
            [this](QPainter& painter) { render(&painter, {}, {}, DrawWindowBackground | DrawChildren); });
}

void View::export_png(const QString& file) {
  constexpr double kDensity = 2.0;  // for print
  write_png(file, size(), kDensity,
            [this](QPainter& painter) { render(&painter, {}, {}, DrawWindowBackground | DrawChildren); });
}

void View::export_chrome_trace(const QString& file) {
  throw Error("has no timeline to write", file.toStdString(), "the Timeline has one");
}

void export_csv(const QAbstractItemModel& model, const QString& file) {
  QString text;
  const int columns = model.columnCount();
  const auto add_line = [&](const auto& cell) {
    QStringList cells;
    for (int column = 0; column < columns; ++column) {
      cells << csv_field(cell(column));
    }
    text += cells.join(QLatin1Char(',')) + QStringLiteral("\r\n");
  };
  add_line([&](int column) { return model.headerData(column, Qt::Horizontal).toString(); });
  for (int row = 0; row < model.rowCount(); ++row) {
    add_line([&](int column) { return model.index(row, column).data().toString(); });
  }
  write_file(file.toStdString(), text.toStdString());
}

}  // namespace trainyard::gui
