#include "gui/app/message_bar.h"

#include <QHBoxLayout>
#include <QLabel>
#include <QTimer>
#include <QToolButton>

#include "gui/paint/theme.h"

namespace trainyard::gui {

MessageBar::MessageBar(QWidget* parent) : QFrame(parent), mark_(new QLabel), label_(new QLabel) {
  setFrameShape(QFrame::StyledPanel);
  setAccessibleName(tr("Message"));
  auto* line = new QHBoxLayout(this);
  line->setContentsMargins(8, 3, 4, 3);
  line->addWidget(mark_);
  label_->setWordWrap(true);
  label_->setTextFormat(Qt::PlainText);
  label_->setTextInteractionFlags(Qt::TextSelectableByMouse);
  line->addWidget(label_, 1);
  auto* close = new QToolButton;
  close->setText(QStringLiteral("✕"));
  close->setAutoRaise(true);
  close->setToolTip(tr("Close this message"));
  close->setAccessibleName(tr("Close this message"));
  connect(close, &QToolButton::clicked, this, &MessageBar::clear);
  line->addWidget(close);
}

void MessageBar::say(const QString& text) { show_text(text, false); }
void MessageBar::warn(const QString& text) { show_text(text, true); }

void MessageBar::clear() {
  label_->clear();
  Q_EMIT shown(false);
}

QString MessageBar::text() const { return label_->text(); }

void MessageBar::show_text(const QString& text, bool bad) {
  QPalette colours = palette();
  const Theme theme = current(colours);
  colours.setColor(QPalette::WindowText, bad ? theme.bad : theme.good);
  mark_->setPalette(colours);
  mark_->setText(bad ? QStringLiteral("⚠") : QStringLiteral("✓"));
  label_->setText(text);
  setAccessibleDescription(text);
  Q_EMIT shown(true);
  fit_height_later();
}

void MessageBar::resizeEvent(QResizeEvent* event) {
  QFrame::resizeEvent(event);
  fit_height_later();
}

// As high as its lines need at the width that it has; a toolbar asks for the height at some other width. Not within a
// resize, which would place the text for the height from before.
void MessageBar::fit_height_later() {
  QTimer::singleShot(0, this, [this] {
    const int needed = layout()->totalHeightForWidth(width());
    if (needed > 0 && needed != height()) {
      setFixedHeight(needed);
      updateGeometry();
    }
  });
}

}  // namespace trainyard::gui
