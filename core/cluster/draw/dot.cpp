// The drawing for Graphviz: the same boxes and wires, each row on one rank.
#include <fmt/format.h>

#include "core/cluster/draw/folded.h"
#include "core/units/format_quantity.h"

namespace trainyard {

namespace {

std::string quoted(const std::string& text) {
  std::string result = "\"";
  for (const char letter : text) {
    if (letter == '"' || letter == '\\') {
      result += '\\';
    }
    result += letter == '\n' ? ' ' : letter;
  }
  return result + "\"";
}

}  // namespace

std::string to_dot(const FoldedCluster& folded) {
  std::string text = "graph cluster {\n  label=" + quoted(folded.title) +
                     ";\n  labelloc=t;\n  node [shape=box, fontname=\"Helvetica\"];\n  edge [fontsize=9];\n";
  for (std::size_t row = 0; row < folded.rows.size(); ++row) {
    text += "  { rank=same;\n";
    for (std::size_t i = 0; i < folded.boxes.size(); ++i) {
      const Box& box = folded.boxes[i];
      if (box.row == row) {
        // A line break in a label is an escape of Graphviz's.
        std::string name = quoted(box.name);
        if (!box.detail.empty()) {
          const std::string detail = quoted(box.detail);
          name = name.substr(0, name.size() - 1) + "\\n" + detail.substr(1);
        }
        text += fmt::format("    b{} [label={}];\n", i, name);
      }
    }
    text += "  }\n";
  }
  for (const Wire& wire : folded.wires) {
    text += fmt::format(
        "  b{} -- b{} [label={}];\n", wire.from, wire.to,
        quoted(fmt::format("{} x {}, {}", wire.links, to_string(wire.kind), format_quantity(wire.bandwidth))));
  }
  return text + "}\n";
}

}  // namespace trainyard
