#include "gui/views/flow_layout.h"

#include <QWidget>
#include <algorithm>

namespace trainyard::gui {

namespace {

constexpr int kGap = 4;

}  // namespace

FlowLayout::FlowLayout(QWidget* parent) : QLayout(parent) { setContentsMargins(0, 0, 0, 0); }

FlowLayout::~FlowLayout() {
  while (QLayoutItem* item = FlowLayout::takeAt(0)) {
    delete item;
  }
}

void FlowLayout::addItem(QLayoutItem* item) { items_.push_back(item); }

QLayoutItem* FlowLayout::itemAt(int index) const {
  return index >= 0 && index < count() ? items_[static_cast<std::size_t>(index)] : nullptr;
}

QLayoutItem* FlowLayout::takeAt(int index) {
  QLayoutItem* item = itemAt(index);
  if (item != nullptr) {
    items_.erase(items_.begin() + index);
  }
  return item;
}

int FlowLayout::heightForWidth(int width) const { return arrange({0, 0, width, 0}, false); }

QSize FlowLayout::minimumSize() const {
  QSize size;
  for (const QLayoutItem* item : items_) {
    size = size.expandedTo(item->minimumSize());
  }
  return size;
}

void FlowLayout::setGeometry(const QRect& rectangle) {
  QLayout::setGeometry(rectangle);
  arrange(rectangle, true);
}

int FlowLayout::arrange(const QRect& rectangle, bool move) const {
  int x = rectangle.x();
  int y = rectangle.y();
  int line = 0;
  for (QLayoutItem* item : items_) {
    if (item->isEmpty()) {
      continue;
    }
    const QSize size = item->sizeHint().boundedTo({std::max(1, rectangle.width()), item->sizeHint().height()});
    if (x > rectangle.x() && x + size.width() > rectangle.right() + 1) {
      x = rectangle.x();
      y += line + kGap;
      line = 0;
    }
    if (move) {
      item->setGeometry({QPoint(x, y), size});
    }
    x += size.width() + kGap;
    line = std::max(line, size.height());
  }
  return y + line - rectangle.y();
}

}  // namespace trainyard::gui
