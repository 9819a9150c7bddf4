// TopologyWidget: a cluster of plain values to look at: setters in, signals out.
//
// Wheel, plus and minus (W and S) zoom at the pointer, drags and arrows (A and D) pan, 0 fits all, F what is selected;
// a click selects a GPU, a switch or a link. A GPU brings its group along where GPUs are coloured by one.
#pragma once

#include <QPointF>
#include <QWidget>
#include <memory>
#include <optional>
#include <vector>

#include "gui/paint/topology_painter.h"

namespace trainyard::gui {

class TopologyWidget : public QWidget {
  Q_OBJECT

 public:
  explicit TopologyWidget(QWidget* parent = nullptr);

  void set_cluster(std::shared_ptr<const Cluster> cluster);  // null: none
  void set_empty_text(const QString& text);                  // why there is none; empty: nobody has chosen one
  const std::shared_ptr<const Cluster>& cluster() const { return cluster_; }
  const ClusterPicture* picture() const { return picture_.get(); }
  void set_links(LinkValues links);  // of this cluster
  const LinkValues& links() const { return links_; }
  void set_colours(GpuColours colours);
  const GpuColours& colours() const { return colours_; }

  void select_ranks(std::vector<Rank> ranks);
  void select_links(std::vector<LinkId> links);
  void select_device(std::optional<VertexId> device);
  const std::vector<Rank>& ranks() const { return ranks_; }
  const std::vector<LinkId>& selected_links() const { return selected_links_; }
  std::optional<VertexId> device() const { return device_; }

  const PlaneView& view() const { return view_; }
  void set_view(const PlaneView& view);
  void zoom_at(QPointF pixel, double factor);
  void fit_all();
  void fit_selection();

  void paint_to(QPainter& painter, bool to_file);
  double last_frame_ms() const { return last_frame_ms_; }

 Q_SIGNALS:
  void rank_clicked(Rank rank, bool add);
  void device_clicked(VertexId device);
  void link_clicked(LinkId link);
  void nothing_clicked();
  void device_stepped(VertexId device);  // selected by key, not clicked yet

 protected:
  bool event(QEvent* event) override;
  void paintEvent(QPaintEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;
  void wheelEvent(QWheelEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  void mouseMoveEvent(QMouseEvent* event) override;
  void mouseReleaseEvent(QMouseEvent* event) override;
  void changeEvent(QEvent* event) override;

 private:
  void rebuild_tiles();
  void find_fullest();
  void click(QPointF pixel, bool add);
  void step_device(int direction);
  void show_device(VertexId device);
  bool selects() const { return device_ || !ranks_.empty() || !selected_links_.empty(); }
  std::optional<LinkId> link_at(QPointF pixel) const;
  QString text_at(QPointF pixel) const;

  std::shared_ptr<const Cluster> cluster_;
  QString empty_text_;
  std::unique_ptr<ClusterPicture> picture_;
  LinkValues links_;
  GpuColours colours_;
  std::vector<float> loads_;
  std::vector<PodTile> tiles_;
  std::vector<LinkId> fullest_;
  std::vector<Rank> ranks_;
  std::vector<LinkId> selected_links_;
  std::optional<VertexId> device_;
  PlaneView view_;
  bool fits_ = true;  // follows the window's size until moved
  std::optional<QPointF> pressed_;
  QPointF last_;
  bool dragging_ = false;
  double last_frame_ms_ = 0.0;
};

}  // namespace trainyard::gui
