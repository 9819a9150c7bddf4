#include "gui/views/layout_words.h"

#include <QApplication>
#include <QFontMetricsF>
#include <QPainter>
#include <QStyle>
#include <algorithm>

#include "core/layout/layout_text.h"
#include "gui/models/plans_model.h"

namespace trainyard::gui {

namespace {

constexpr double kMargin = 4.0;
const QChar kDots(0x2026);

QString subject(const QString& word) { return QString::fromStdString(word_subject(word.toStdString())); }

// What a layout without a word about the same is told by. A subject of two words, which has no name of its own in the
// text, by the other's word: "no cp-ulysses".
QString lack_of(const QString& word) {
  const QString about = subject(word);
  if (about == QStringLiteral("layers")) {
    return QObject::tr("even layers");
  }
  if (about.startsWith(QStringLiteral("no-"))) {  // "no no-overlap"
    return about.mid(3);
  }
  return QObject::tr("no %1").arg(about.contains(QLatin1Char(' ')) ? word : about);
}

QFont font_of(QFont font, WordKind kind) {
  font.setBold(kind == WordKind::kOwn);
  font.setItalic(font.italic() || kind == WordKind::kLacking);
  return font;
}

}  // namespace

std::vector<LayoutWord> layout_words(const QString& layout, const QString& other) {
  const QStringList own = layout.split(QLatin1Char(' '), Qt::SkipEmptyParts);
  const QStringList others = other.split(QLatin1Char(' '), Qt::SkipEmptyParts);
  std::vector<LayoutWord> words;
  QStringList subjects;
  for (const QString& word : own) {
    words.push_back({word, others.isEmpty() || others.contains(word) ? WordKind::kShared : WordKind::kOwn});
    subjects << subject(word);
  }
  for (const QString& word : others) {
    if (!subject(word).isEmpty() && !subjects.contains(subject(word))) {
      words.push_back({lack_of(word), WordKind::kLacking});
    }
  }
  return words;
}

std::vector<LayoutWord> fitted(std::vector<LayoutWord> words, double room,
                               const std::function<double(const std::vector<LayoutWord>&)>& width) {
  const auto drop_last = [&](WordKind kind) {
    const auto found =
        std::find_if(words.rbegin(), words.rend(), [kind](const LayoutWord& w) { return w.kind == kind; });
    if (found == words.rend()) {
      return false;
    }
    *found = {QString(kDots), WordKind::kGap};
    words.erase(std::unique(words.begin(), words.end(),
                            [](const LayoutWord& a, const LayoutWord& b) {
                              return a.kind == WordKind::kGap && b.kind == WordKind::kGap;
                            }),
                words.end());
    return true;
  };
  while (width(words) > room && (drop_last(WordKind::kShared) || drop_last(WordKind::kLacking))) {
  }
  return words;
}

void LayoutDelegate::paint(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& index) const {
  QStyleOptionViewItem cell = option;
  initStyleOption(&cell, index);
  const QFont font = cell.font;
  const double space = QFontMetricsF(font).horizontalAdvance(QLatin1Char(' '));
  const auto width_of = [&](const LayoutWord& word) {
    return QFontMetricsF(font_of(font, word.kind)).horizontalAdvance(word.text) + space;
  };
  const auto width = [&](const std::vector<LayoutWord>& words) {
    double sum = 0.0;
    for (const LayoutWord& word : words) {
      sum += width_of(word);
    }
    return sum;
  };
  const QRectF room = QRectF(cell.rect).adjusted(kMargin, 0.0, -kMargin, 0.0);
  const std::vector<LayoutWord> words =
      fitted(layout_words(cell.text, index.data(PlansModel::kBestRole).toString()), room.width(), width);
  cell.text.clear();
  const QStyle* style = cell.widget == nullptr ? QApplication::style() : cell.widget->style();
  style->drawControl(QStyle::CE_ItemViewItem, &cell, painter, cell.widget);
  const bool selected = cell.state.testFlag(QStyle::State_Selected);
  const bool same = std::all_of(words.begin(), words.end(), [](const LayoutWord& word) {
    return word.kind == WordKind::kShared || word.kind == WordKind::kGap;
  });
  const QColor strong = cell.palette.color(selected ? QPalette::HighlightedText : QPalette::Text);
  QColor pale = strong;
  constexpr float kPale = 0.7F;
  pale.setAlphaF(kPale);
  painter->save();
  painter->setClipRect(room);
  double left = room.left();
  for (const LayoutWord& word : words) {
    painter->setFont(font_of(font, word.kind));
    painter->setPen(word.kind == WordKind::kOwn || same ? strong : pale);
    const double wide = std::min(width_of(word), room.right() - left);
    if (wide < QFontMetricsF(painter->font()).horizontalAdvance(kDots)) {
      break;
    }
    painter->drawText(QRectF(left, room.top(), wide, room.height()), Qt::AlignLeft | Qt::AlignVCenter,
                      QFontMetricsF(painter->font()).elidedText(word.text, Qt::ElideRight, wide));
    left += width_of(word);
  }
  painter->restore();
}

}  // namespace trainyard::gui
