// RampLegend: what the colours of the sequential ramp stand for, in one line: the quantity, its worst and its best, and
// that colours go by rank: places among all, not values, so that many like values don't all get one colour.
#pragma once

#include <QString>
#include <QWidget>

namespace trainyard::gui {

struct RampLabels {
  QString title;   // "MFU"
  QString worst;   // with unit
  QString middle;  // half of all are worse
  QString best;
};

class RampLegend : public QWidget {
  Q_OBJECT

 public:
  explicit RampLegend(QWidget* parent = nullptr);

  void set_labels(RampLabels labels);  // without a title: draws nothing
  const RampLabels& labels() const { return labels_; }
  QSize sizeHint() const override;
  QSize minimumSizeHint() const override { return {0, sizeHint().height()}; }

 protected:
  void paintEvent(QPaintEvent* event) override;

 private:
  QString before() const;
  QString after() const;

  RampLabels labels_;
};

}  // namespace trainyard::gui
