#include "gui/paint/topology_text.h"

#include <string>
#include <utility>

#include "core/units/format_quantity.h"
#include "gui/paint/topology_painter.h"

namespace trainyard::gui {

QString device_text(const Cluster& cluster, VertexId device) {
  const Vertex& of = cluster.vertex(device);
  QString text = QStringLiteral("<b>%1</b><br>%2")
                     .arg(QString::fromStdString(of.name).toHtmlEscaped(),
                          QString::fromStdString(std::string(to_string(of.kind))));
  const DeviceType& type = cluster.type(device);
  if (!type.name.empty()) {
    text += QStringLiteral(", %1").arg(QString::fromStdString(type.name).toHtmlEscaped());
  }
  for (const auto& [name, value] :
       {std::pair("rail", of.rail), std::pair("plane", of.plane), std::pair("pod", of.pod)}) {
    if (value) {
      text += QStringLiteral("<br>%1 %2").arg(QLatin1String(name)).arg(*value);
    }
  }
  return text;
}

QString link_text(const Cluster& cluster, LinkId id, const LinkValues& links) {
  const Link& link = cluster.link(id);
  QString text = QStringLiteral("%1 – %2, %3")
                     .arg(QString::fromStdString(cluster.vertex(link.from).name),
                          QString::fromStdString(cluster.vertex(link.to).name),
                          QString::fromStdString(format_quantity(link.bandwidth)));
  if (links.known()) {
    text += QStringLiteral(", busy %1 % of the time").arg(100.0 * static_cast<double>(links.of(id)), 0, 'f', 1);
  }
  return text;
}

}  // namespace trainyard::gui
