// Legend: names beside a piece of what they look like, in rows.
#pragma once

#include <QRectF>
#include <QString>
#include <cstdint>
#include <vector>

#include "gui/paint/theme.h"

class QFontMetricsF;
class QPainter;

namespace trainyard::gui {

enum class LegendMark : std::uint8_t { kFill, kLine, kDashes, kPoint };

struct LegendEntry {
  QString name;
  Category category;
  LegendMark mark = LegendMark::kFill;
};

// What the entries take at this width.
double legend_height(const QFontMetricsF& metrics, const std::vector<LegendEntry>& entries, double width);
void draw_legend(QPainter& painter, const QRectF& area, const Theme& theme, const std::vector<LegendEntry>& entries);

}  // namespace trainyard::gui
