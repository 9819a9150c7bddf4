// The sentence above a view's pictures: as many lines as its width asks for, and without a part in how low the dock may
// be. A wrapped label alone asks for the height it has at its narrowest, so that docks scroll that needn't.
#pragma once

class QLabel;
class QWidget;

namespace trainyard::gui {

QLabel* make_summary(QWidget* parent);

}  // namespace trainyard::gui
