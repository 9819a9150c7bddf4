// Chart: a painted view of plain values, whose screen, export and tooltips come of one function.
//
// draw() paints all that is seen, with spots: areas that a pointer rests on or a key steps to. Colours come from the
// palette at each painting, so a change of theme shows at once. Arrow keys go from spot to spot, Enter activates one as
// a click does; the spot's text is the accessible description.
#pragma once

#include <QImage>
#include <QRectF>
#include <QString>
#include <QWidget>
#include <vector>

#include "gui/paint/theme.h"

namespace trainyard::gui {

struct Spot {
  QRectF area;
  QString tip;  // with units
  int id = -1;  // what activated() says; -1: only a tip
};
using Spots = std::vector<Spot>;

class Chart : public QWidget {
  Q_OBJECT

 public:
  explicit Chart(const QString& accessible_name, QWidget* parent = nullptr);

  // All of it, inside `area`, in the painter's pixels. Fills the background.
  void paint_all(QPainter& painter, const QRectF& area, const Theme& theme) const;

  // What an empty chart says: why, and what to do next.
  void set_empty_text(const QString& text);
  const QString& empty_text() const { return empty_text_; }
  virtual bool is_empty() const = 0;

  // Of the last painting.
  const Spots& spots() const { return spots_; }

 Q_SIGNALS:
  void activated(int id);
  void hovered(int id);  // -1: none

 protected:
  virtual void draw(QPainter& painter, const QRectF& area, const Theme& theme, Spots& spots) const = 0;
  // The spot on top at a place of the widget; null where there is none.
  const Spot* spot_at(const QPointF& place) const;
  void paint_focus(QPainter& painter, const Theme& theme) const;

  void paintEvent(QPaintEvent* event) override;
  bool event(QEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  void mouseReleaseEvent(QMouseEvent* event) override;
  void mouseMoveEvent(QMouseEvent* event) override;
  void leaveEvent(QEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;
  void changeEvent(QEvent* event) override;

  // Of the widget's size in device pixels, transparent: a layer that is painted once and copied each frame. True where
  // the image was of another size, or none: then it is to be painted.
  bool fit_layer(QImage& image) const;
  // An export as lines and letters, where a layer would be pixels.
  static bool keeps_lines(const QPainter& painter);

  void set_spots(Spots spots) { spots_ = std::move(spots); }

 private:
  void step_focus(int by);

  QString empty_text_;
  Spots spots_;
  int focused_ = -1;  // place in spots_
  int hovered_ = -1;  // id
  QPointF pressed_;
};

}  // namespace trainyard::gui
