// FlowLayout: widgets one after the other, on as many lines as the width asks for.
#pragma once

#include <QLayout>
#include <memory>
#include <vector>

namespace trainyard::gui {

class FlowLayout : public QLayout {
 public:
  explicit FlowLayout(QWidget* parent = nullptr);
  ~FlowLayout() override;

  void addItem(QLayoutItem* item) override;
  int count() const override { return static_cast<int>(items_.size()); }
  QLayoutItem* itemAt(int index) const override;
  QLayoutItem* takeAt(int index) override;
  bool hasHeightForWidth() const override { return true; }
  int heightForWidth(int width) const override;
  Qt::Orientations expandingDirections() const override { return {}; }
  QSize sizeHint() const override { return minimumSize(); }
  QSize minimumSize() const override;
  void setGeometry(const QRect& rectangle) override;

 private:
  int arrange(const QRect& rectangle, bool move) const;  // the height it takes

  std::vector<QLayoutItem*> items_;
};

}  // namespace trainyard::gui
