// Hatches: the second cue of a category, as plain lines, since SVG viewers and QSvgGenerator disagree on brush
// patterns.
//
// Lines lie on a grid of the whole picture, not of each rectangle, so that neighbours of one category join up.
#pragma once

#include <QLineF>
#include <QRectF>
#include <vector>

#include "gui/paint/theme.h"

class QPainter;

namespace trainyard::gui {

// The parts of the hatch's lines inside the rectangle, `spacing` pixels apart along an axis.
std::vector<QLineF> hatch_lines(const QRectF& area, Hatch hatch, double spacing = 6.0);

// The parts of a cell that its mark fills.
std::vector<QRectF> mark_areas(const QRectF& cell, CellMark mark);

// The rectangle in the category's colour, its hatch on top.
void fill(QPainter& painter, const QRectF& area, const Category& category);
void fill(QPainter& painter, const QRectF& area, const CellLook& look);

}  // namespace trainyard::gui
