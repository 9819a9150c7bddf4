// LayoutWords: a layout's words ("tp4 pp4 dp64 zero1 ...") in little room: where there is no room for all, those that
// it shares with another layout are left out first, so that what is left is what tells the two apart.
#pragma once

#include <QString>
#include <QStyledItemDelegate>
#include <cstdint>
#include <functional>
#include <vector>

namespace trainyard::gui {

enum class WordKind : std::uint8_t {
  kShared,   // the other has it too
  kOwn,      // the other doesn't, or with another number
  kLacking,  // only the other has it: "no overlap-tp"
  kGap,      // shared words that are left out
};

struct LayoutWord {
  QString text;
  WordKind kind = WordKind::kShared;
  friend bool operator==(const LayoutWord&, const LayoutWord&) = default;
};

// All words. Of the other itself, or of an empty one: all kShared.
std::vector<LayoutWord> layout_words(const QString& layout, const QString& other);

// What fits: shared words go first, from the end, a gap in their place; then lacking ones.
std::vector<LayoutWord> fitted(std::vector<LayoutWord> words, double room,
                               const std::function<double(const std::vector<LayoutWord>&)>& width);

// Draws cells of PlansModel that hold a layout's text, told from the best plan's.
class LayoutDelegate : public QStyledItemDelegate {
  Q_OBJECT

 public:
  using QStyledItemDelegate::QStyledItemDelegate;
  void paint(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& index) const override;
};

}  // namespace trainyard::gui
