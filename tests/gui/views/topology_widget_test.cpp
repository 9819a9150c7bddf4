#include "gui/views/topology_widget.h"

#include <gtest/gtest.h>

#include <QAbstractItemModelTester>
#include <QApplication>
#include <QBuffer>
#include <QImage>
#include <QPainter>
#include <QSignalSpy>
#include <QSvgGenerator>
#include <QSvgRenderer>
#include <QTest>
#include <cmath>
#include <set>

#include "core/cluster/builder.h"
#include "gui/models/links_model.h"
#include "gui/session/gpu_grouping.h"

namespace trainyard::gui {
namespace {

class TopologyWidgetTest : public testing::Test {
 protected:
  void SetUp() override {
    cluster_ = std::make_shared<const Cluster>(build_cluster("superpod-h100:su=2"));
    widget_.resize(1000, 600);
    widget_.set_cluster(cluster_);
    widget_.show();
    QApplication::processEvents();
    widget_.fit_all();
  }
  QPoint pixel_of(VertexId vertex) const {
    return to_pixel(widget_.view(), widget_.picture()->anchor(vertex), widget_.size()).toPoint();
  }
  QImage screen() {
    QImage image(widget_.size(), QImage::Format_RGB32);
    QPainter painter(&image);
    widget_.paint_to(painter, false);
    return image;
  }
  std::shared_ptr<const Cluster> cluster_;
  TopologyWidget widget_;
};

TEST_F(TopologyWidgetTest, AClickFindsTheGpuTheSwitchOrNothing) {
  QSignalSpy ranks(&widget_, &TopologyWidget::rank_clicked);
  QSignalSpy devices(&widget_, &TopologyWidget::device_clicked);
  QSignalSpy nothing(&widget_, &TopologyWidget::nothing_clicked);
  const std::vector<VertexId> gpus = cluster_->gpus();
  QTest::mouseClick(&widget_, Qt::LeftButton, {}, pixel_of(gpus[37]));
  ASSERT_EQ(ranks.count(), 1);
  EXPECT_EQ(ranks.first().first().value<Rank>(), Rank(37));
  QTest::mouseClick(&widget_, Qt::LeftButton, {}, pixel_of(cluster_->of_kind(VertexKind::kLeaf)[3]));
  EXPECT_EQ(devices.count(), 1);
  QTest::mouseClick(&widget_, Qt::LeftButton, {}, QPoint(2, 2));
  EXPECT_EQ(nothing.count(), 1);
}

TEST_F(TopologyWidgetTest, KeysZoomAndFit) {
  const double all = widget_.view().scale;
  QTest::keyClick(&widget_, Qt::Key_Plus);
  EXPECT_GT(widget_.view().scale, all);
  widget_.select_ranks({Rank(5)});
  QTest::keyClick(&widget_, Qt::Key_F);
  EXPECT_GT(widget_.view().scale, 5.0 * all);
  QTest::keyClick(&widget_, Qt::Key_0);
  EXPECT_DOUBLE_EQ(widget_.view().scale, all);
}

TEST_F(TopologyWidgetTest, KeysStepThroughSwitchesAndEnterAsks) {
  QSignalSpy stepped(&widget_, &TopologyWidget::device_stepped);
  QSignalSpy clicked(&widget_, &TopologyWidget::device_clicked);
  QTest::keyClick(&widget_, Qt::Key_Return);
  EXPECT_EQ(clicked.count(), 0);  // nothing is selected
  std::set<VertexId> seen;
  while (stepped.count() < 2000) {
    QTest::keyClick(&widget_, Qt::Key_Period);
    if (!seen.insert(*widget_.device()).second) {
      break;
    }
  }
  // Every switch that can be clicked, each once.
  std::size_t switches = widget_.picture()->above().size();
  for (const PodPicture& pod : widget_.picture()->pods()) {
    switches += pod.leaves.size() + pod.spines.size();
  }
  EXPECT_EQ(seen.size(), switches);
  QTest::keyClick(&widget_, Qt::Key_Comma);
  QTest::keyClick(&widget_, Qt::Key_Return);
  EXPECT_EQ(clicked.count(), 1);
}

// Grey rather than the colour of a link without load.
TEST_F(TopologyWidgetTest, LoadsThatArentKnownYetHaveNoColour) {
  const QPoint gpu = pixel_of(cluster_->gpus()[100]);
  EXPECT_EQ(screen().pixel(gpu), current(widget_.palette()).missing.rgb());
  LinkValues calm;
  calm.busy.assign(cluster_->links().size(), 0.0F);
  widget_.set_links(calm);
  EXPECT_NE(screen().pixel(gpu), current(widget_.palette()).missing.rgb());
}

// One hot link among thousands: its GPU's pixel is of another colour than before, from afar.
TEST_F(TopologyWidgetTest, AHotGpuIsSeenFromAfar) {
  LinkValues calm;
  calm.busy.assign(cluster_->links().size(), 0.1F);
  widget_.set_links(calm);
  const QImage before = screen();
  const VertexId gpu = cluster_->gpus()[100];
  for (std::size_t l = 0; l < cluster_->links().size(); ++l) {
    if (cluster_->links()[l].from == gpu || cluster_->links()[l].to == gpu) {
      calm.busy[l] = 1.0F;
    }
  }
  widget_.set_links(calm);
  const QImage after = screen();
  EXPECT_NE(before.pixel(pixel_of(gpu)), after.pixel(pixel_of(gpu)));
  EXPECT_EQ(before.pixel(pixel_of(cluster_->gpus()[200])), after.pixel(pixel_of(cluster_->gpus()[200])));
}

TEST_F(TopologyWidgetTest, GpusOfAGroupHaveItsColour) {
  Layout layout;
  layout.tensor = 8;
  layout.data = 8;
  layout.pipeline = 4;
  GpuColours colours;
  colours.category = group_of_gpus(*cluster_, layout, std::nullopt, GpuGrouping::kStage);
  ASSERT_EQ(colours.category.size(), cluster_->gpus().size());
  EXPECT_EQ(colours.category[0], 0);
  EXPECT_EQ(colours.category[63], 0);
  EXPECT_EQ(colours.category[64], 1);  // pp varies slowest: 64 ranks a stage
  EXPECT_EQ(colours.category[255], 3);
  EXPECT_EQ(colours.category[256], -1);  // outside the plan
  widget_.set_colours(colours);
  widget_.select_ranks({Rank(0)});
  QTest::keyClick(&widget_, Qt::Key_F);
  widget_.select_ranks({});
  const QColor expected = current(widget_.palette()).category(0).colour;
  EXPECT_EQ(screen().pixelColor(pixel_of(cluster_->gpus()[0]) + QPoint(-12, -12)).rgb(), expected.rgb());
}

TEST_F(TopologyWidgetTest, TheExportedPictureIsTheOneOnTheScreen) {
  LinkValues values;
  for (std::size_t l = 0; l < cluster_->links().size(); ++l) {
    values.busy.push_back(static_cast<float>(l % 97) / 97.0F);
  }
  widget_.set_links(values);
  for (const double zoom : {1.0, 4.0}) {
    widget_.zoom_at(QPointF(300, 400), zoom);
    const QImage seen = screen();
    QByteArray file;
    QBuffer buffer(&file);
    QSvgGenerator svg;
    svg.setOutputDevice(&buffer);
    svg.setSize(widget_.size());
    svg.setViewBox(widget_.rect());
    svg.setResolution(96);
    {
      QPainter painter(&svg);
      widget_.paint_to(painter, true);
    }
    QSvgRenderer renderer(file);
    ASSERT_TRUE(renderer.isValid());
    QImage again(widget_.size(), QImage::Format_RGB32);
    again.fill(Qt::white);
    {
      QPainter painter(&again);
      renderer.render(&painter, QRectF(widget_.rect()));
    }
    double sum = 0.0;
    for (int y = 0; y < seen.height(); ++y) {
      for (int x = 0; x < seen.width(); ++x) {
        sum += std::abs(qGreen(seen.pixel(x, y)) - qGreen(again.pixel(x, y)));
      }
    }
    EXPECT_LT(sum / (seen.width() * seen.height()), 8.0) << zoom;
  }
}

TEST_F(TopologyWidgetTest, TheTableHasTheBusiestLinksFirst) {
  LinksModel model;
  const QAbstractItemModelTester tester(&model, QAbstractItemModelTester::FailureReportingMode::Fatal);
  auto traffic = std::make_shared<LinkTraffic>();
  for (std::size_t l = 0; l < cluster_->links().size(); ++l) {
    traffic->busy.push_back(l == 77 ? 0.9F : 0.2F);
    traffic->forward.emplace_back(static_cast<std::int64_t>(l));
    traffic->reverse.emplace_back(0);
  }
  model.set(cluster_, traffic);
  EXPECT_EQ(model.link(0), LinkId(77));
  EXPECT_EQ(model.index(0, LinksModel::kBusy).data().toString(), QStringLiteral("90.0 %"));
  EXPECT_EQ(static_cast<std::size_t>(model.rowCount()) + model.left_out(), cluster_->links().size());
  model.set(nullptr, nullptr);
  EXPECT_EQ(model.rowCount(), 0);
}

TEST_F(TopologyWidgetTest, WithoutAClusterItSaysWhatToDo) {
  widget_.set_cluster(nullptr);
  const QImage empty = screen();
  QTest::keyClick(&widget_, Qt::Key_Plus);
  QTest::keyClick(&widget_, Qt::Key_F);
  QTest::mouseClick(&widget_, Qt::LeftButton, {}, QPoint(300, 300));
  bool text = false;
  for (int x = 0; x < empty.width() && !text; ++x) {
    for (int y = 0; y < empty.height() && !text; ++y) {
      text = empty.pixel(x, y) != empty.pixel(0, 0);
    }
  }
  EXPECT_TRUE(text);
}

}  // namespace
}  // namespace trainyard::gui
